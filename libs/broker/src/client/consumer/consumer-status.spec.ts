import { silentLogger } from '../../port/silent-logger.js';
import { VirtualRuntime } from '../../runtime/index.js';
import { ConsumerStatus } from './consumer-status.js';

const one = {};
const two = {};

function statusWith(): { consumerStatus: ConsumerStatus; runtime: VirtualRuntime; seen: string[] } {
  const runtime = new VirtualRuntime();
  const consumerStatus = new ConsumerStatus(runtime, silentLogger);
  const seen: string[] = [];
  consumerStatus.subscribe(({ state }) => seen.push(state));
  return { consumerStatus, runtime, seen };
}

describe('the status of a session', () => {
  it('shows what gives trouble while the group is stable, and stable again when all of it is over', () => {
    const { consumerStatus, seen } = statusWith();
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

  it('keeps the time at which a trouble began, however often it is told', async () => {
    const { consumerStatus, runtime, seen } = statusWith();
    consumerStatus.setMembership({ state: 'stable', since: 0, generation: 1 });
    const began = runtime.now();
    consumerStatus.reportFetchError(one, new Error('refused'));
    await runtime.advance(1_000);
    consumerStatus.reportFetchError(one, new Error('refused'));
    expect(consumerStatus.status).toMatchObject({ state: 'retrying', since: began });
    expect(seen).toEqual(['stable', 'retrying']);
  });

  it('mentions what is over already, and goes back', () => {
    const { consumerStatus, seen } = statusWith();
    consumerStatus.setMembership({ state: 'stable', since: 0, generation: 1 });
    consumerStatus.reportBriefly(new Error('a listener threw'));
    expect(seen).toEqual(['stable', 'retrying', 'stable']);
  });

  it('lets a joining member be joining, whatever the trouble', () => {
    const { consumerStatus } = statusWith();
    consumerStatus.setMembership({ state: 'joining', since: 0 });
    consumerStatus.reportFetchError(one, new Error('refused'));
    expect(consumerStatus.status.state).toBe('joining');
  });

  it('shows what keeps a member from starting while it joins, until that is over', () => {
    const { consumerStatus, seen } = statusWith();
    consumerStatus.setMembership({ state: 'joining', since: 0 });
    consumerStatus.reportJoinError(one, new Error('no offsets'));
    expect(consumerStatus.status).toMatchObject({
      state: 'retrying',
      error: { message: 'no offsets' },
    });
    consumerStatus.clearErrors(one);
    expect(seen).toEqual(['joining', 'retrying', 'joining']);
  });

  it('is final once closed; once failed, it can only close', () => {
    const { consumerStatus } = statusWith();
    consumerStatus.setMembership({ state: 'failed', since: 0, error: new Error('fenced') });
    consumerStatus.setMembership({ state: 'stable', since: 0, generation: 2 });
    expect(consumerStatus.status.state).toBe('failed');
    consumerStatus.setMembership({ state: 'closed' });
    consumerStatus.setMembership({ state: 'joining', since: 0 });
    expect(consumerStatus.status.state).toBe('closed');
  });

  it('survives a listener that throws', () => {
    const { consumerStatus, seen } = statusWith();
    consumerStatus.subscribe(() => {
      throw new Error('not our fault');
    });
    consumerStatus.setMembership({ state: 'joining', since: 0 });
    expect(seen).toEqual(['joining']);
  });
});
