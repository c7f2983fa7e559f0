import { silentLogger } from '../../port/silent-logger.js';
import { VirtualRuntime } from '../../runtime/index.js';
import { ConsumerStatus } from './consumer-status.js';

const one = {};
const two = {};

function createStatus(): {
  consumerStatus: ConsumerStatus;
  runtime: VirtualRuntime;
  seen: string[];
} {
  const runtime = new VirtualRuntime();
  const consumerStatus = new ConsumerStatus(runtime, silentLogger);
  const seen: string[] = [];
  consumerStatus.subscribe(({ state }) => seen.push(state));
  return { consumerStatus, runtime, seen };
}

describe('ConsumerStatus', () => {
  it("is 'retrying' from the first fetch error of a stable member until all fetch errors are over", () => {
    const { consumerStatus, seen } = createStatus();
    consumerStatus.setMembership({ state: 'stable', since: 0, generation: 1 });
    consumerStatus.reportFetchError(one, new Error('refused'));
    consumerStatus.reportFetchError(two, new Error('refused'));
    consumerStatus.clearErrors(one);
    expect(consumerStatus.status.state).toBe('retrying');
    consumerStatus.clearErrors(two);
    expect(consumerStatus.status.state).toBe('stable');
    expect(seen[0]).toBe('stable');
    expect(seen.at(-1)).toBe('stable');
  });

  it('keeps the start time of an error that is reported repeatedly', async () => {
    const { consumerStatus, runtime, seen } = createStatus();
    consumerStatus.setMembership({ state: 'stable', since: 0, generation: 1 });
    const began = runtime.now();
    consumerStatus.reportFetchError(one, new Error('refused'));
    await runtime.advance(1_000);
    consumerStatus.reportFetchError(one, new Error('refused'));
    expect(consumerStatus.status).toMatchObject({ state: 'retrying', since: began });
    expect(seen).toEqual(['stable', 'retrying']);
  });

  it("is 'retrying' for one notification if an error is already over when it is reported", () => {
    const { consumerStatus, seen } = createStatus();
    consumerStatus.setMembership({ state: 'stable', since: 0, generation: 1 });
    consumerStatus.reportBriefly(new Error('a listener threw'));
    expect(seen).toEqual(['stable', 'retrying', 'stable']);
  });

  it('ignores fetch errors while the member joins', () => {
    const { consumerStatus } = createStatus();
    consumerStatus.setMembership({ state: 'joining', since: 0 });
    consumerStatus.reportFetchError(one, new Error('refused'));
    expect(consumerStatus.status.state).toBe('joining');
  });

  it("is 'retrying' while an error delays the join", () => {
    const { consumerStatus, seen } = createStatus();
    consumerStatus.setMembership({ state: 'joining', since: 0 });
    consumerStatus.reportJoinError(one, new Error('no offsets'));
    expect(consumerStatus.status).toMatchObject({
      state: 'retrying',
      error: { message: 'no offsets' },
    });
    consumerStatus.clearErrors(one);
    expect(seen).toEqual(['joining', 'retrying', 'joining']);
  });

  it('stays closed for good, and changes from failed only to closed', () => {
    const { consumerStatus } = createStatus();
    consumerStatus.setMembership({ state: 'failed', since: 0, error: new Error('fenced') });
    consumerStatus.setMembership({ state: 'stable', since: 0, generation: 2 });
    expect(consumerStatus.status.state).toBe('failed');
    consumerStatus.setMembership({ state: 'closed' });
    consumerStatus.setMembership({ state: 'joining', since: 0 });
    expect(consumerStatus.status.state).toBe('closed');
  });

  it('catches an error that a listener throws', () => {
    const { consumerStatus, seen } = createStatus();
    consumerStatus.subscribe(() => {
      throw new Error('not our fault');
    });
    consumerStatus.setMembership({ state: 'joining', since: 0 });
    expect(seen).toEqual(['joining']);
  });
});
