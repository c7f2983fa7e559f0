import { Deferred } from '@nest-event-bus/broker/runtime';
import { type Outcome, succeeded } from '../../model/outcomes/outcome.js';
import type { PartitionObserver } from './consuming-session.js';
import { ConsumingTestBed } from './consuming-test-bed.spec-support.js';

let testBed: ConsumingTestBed;
let seen: string[];

const partitions: PartitionObserver = {
  onAssigned: (given) =>
    void seen.push(`assigned ${given.map(({ partition }) => partition).join()}`),
  onRevoked: (given, isLost) =>
    void seen.push(
      `${isLost ? 'lost' : 'revoked'} ${given.map(({ partition }) => partition).join()}`,
    ),
  onStopped: ({ code, partition }) => void seen.push(`stopped ${partition}: ${code}`),
};

beforeEach(async () => {
  testBed = await ConsumingTestBed.of(1);
  seen = [];
});
afterEach(() => testBed.end());

describe('PartitionObserver', () => {
  it('gets the partitions that are assigned to a session, and those that the session releases', async () => {
    const { session } = await testBed.started(undefined, { partitions });
    await testBed.until(() => seen.length === 1);
    await testBed.done(session.close());
    expect(seen).toEqual(['assigned 0', 'revoked 0']);
  });

  it('gets the partitions that were lost, because another member may have them already', async () => {
    await testBed.write(1);
    const gate = new Deferred<Outcome>();
    let isAborted = false;
    await testBed.started(
      ({ signal }) => {
        signal.addEventListener('abort', () => (isAborted = true));
        return gate.promise;
      },
      { clientId: 'cut', settings: { maxPollIntervalMs: 30_000 }, partitions },
    );
    const fault = testBed.broker.faults.dropHeartbeats({ clientId: 'cut' });
    await testBed.until(() => isAborted);
    expect(seen.slice(0, 2)).toEqual(['assigned 0', 'lost 0']);
    gate.resolve(succeeded);
    fault.lift();
  });

  it('gets a partition that cannot be read any further', async () => {
    await testBed.write(5);
    await testBed.started(undefined, { partitions });
    await testBed.untilCommitted(5);
    await testBed.recreate();
    await testBed.write(7);
    await testBed.runtime.advance(120_000);
    expect(seen).toEqual(['assigned 0', 'stopped 0: TOPIC_RECREATED']);
  });
});
