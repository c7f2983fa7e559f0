import { Deferred } from '@nest-event-bus/broker/runtime';
import { type Outcome, succeeded } from '../../model/outcomes/outcome.js';
import {
  GROUP,
  ConsumingTestBed,
  TOPIC,
  reconciles,
  upTo,
  type Handle,
} from './consuming-test-bed.spec-support.js';
import { RecreatedTopics } from './recreated-topics.js';

describe('SupervisedSession whose log was truncated below records in flight', () => {
  let testBed: ConsumingTestBed;

  afterEach(() => testBed.end());

  /**
   * The handler runs record 2 of five. Then the log is truncated at offset 3, and five other
   * records are written.
   */
  async function cutBack(offsetReset: 'earliest' | 'none') {
    await testBed.write(3);
    await testBed.write(2);
    const gate = new Deferred<Outcome>();
    const handle: Handle = ({ record }) => (record.offset === 2 ? gate.promise : succeeded);
    const member = testBed.session(handle, { consumer: { offsetReset } });
    await testBed.done(
      member.driver.admin().setGroupOffsets(GROUP, [{ topic: TOPIC, partition: 0, offset: 0 }]),
    );
    await testBed.done(member.session.start());
    await testBed.untilCommitted(2);
    await testBed.until(() => member.session.counts.received === 5);
    const fault = testBed.broker.faults.refuse({ operation: 'fetch' }, 'NOT_LEADER_OR_FOLLOWER');
    await testBed.runtime.advance(10_000);
    testBed.broker.faults.truncate({ topic: TOPIC, partition: 0 }, 3);
    await testBed.write(5);
    fault.lift();
    return { member, gate };
  }

  it('continues to read at the truncated end, and redelivers the unfinished records before that end', async () => {
    const onReset = jest.spyOn(RecreatedTopics.prototype, 'onReset');
    testBed = await ConsumingTestBed.of(1);
    const { member, gate } = await cutBack('earliest');
    await testBed.until(() => member.log.some(({ context }) => context['reason'] !== undefined));
    expect(member.log.find(({ context }) => context['reason'] !== undefined)).toMatchObject({
      level: 'warn',
      context: { topic: TOPIC, partition: 0, from: 5, to: 3, reason: 'log-truncated' },
    });
    await testBed.runtime.advance(1_000);
    expect(await testBed.committed()).toBe(2);
    gate.resolve(succeeded);
    await testBed.untilCommitted(8);
    expect(member.offsets()).toEqual([0, 1, 2, ...upTo(6, 2)]);
    // The new lane reads the same topic as the former one.
    expect(onReset).toHaveBeenCalledTimes(1);
    expect(reconciles(member.session.counts)).toBe(true);
  });

  it("commits no further offset with offsetReset 'none'", async () => {
    testBed = await ConsumingTestBed.of(1);
    const { member, gate } = await cutBack('none');
    await testBed.until(() => member.session.status.partitionPauses.length > 0);
    expect(member.session.status.partitionPauses).toMatchObject([
      { error: { code: 'LOG_TRUNCATED' } },
    ]);
    gate.resolve(succeeded);
    await testBed.until(() => member.handled.length === 5);
    await testBed.done(member.session.close());
    const next = await testBed.started();
    await testBed.untilCommitted(8);
    expect(next.offsets()).toEqual(upTo(6, 2));
  });
});
