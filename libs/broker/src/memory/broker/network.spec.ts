import { ConnectionError, RequestTimeoutError } from '../../port/errors.js';
import { createTestCluster, observe } from './test-cluster.spec-support.js';
import type { CallOptions } from './network.js';
import type { FaultMatch, RequestScope } from './faults/request-scope.js';

const scope: RequestScope = { operation: 'commit', clientId: 'me', groupId: 'g' };

function setUp(latencyMs = 0) {
  const { runtime, broker, cluster } = createTestCluster({ latencyMs });
  let effects = 0;
  const call = (about: Partial<RequestScope> = {}, options: Partial<CallOptions> = {}) =>
    observe(
      cluster.network.call({ ...scope, ...about }, () => (effects += 1), {
        timeoutMs: 1_000,
        ...options,
      }),
    );
  return { runtime, faults: broker.faults, cluster, call, effects: () => effects };
}

describe('Network.call()', () => {
  it('executes the request only after the caller has returned to the event loop', async () => {
    const { runtime, call, effects } = setUp();
    const seen = call();
    expect(effects()).toBe(0);
    await runtime.settle();
    expect(seen.result).toBe(1);
  });

  it('uses half of the latency for the request, and half for the response', async () => {
    const { runtime, call, effects } = setUp(100);
    const seen = call();
    await runtime.advance(49);
    expect(effects()).toBe(0);
    await runtime.advance(1);
    expect([effects(), seen.ended]).toEqual([1, false]);
    await runtime.advance(50);
    expect(seen.result).toBe(1);
  });

  it('rejects with the reason of its signal', async () => {
    const { runtime, call, effects } = setUp(100);
    const abort = new AbortController();
    const seen = call({}, { signal: abort.signal });
    await runtime.settle();
    abort.abort('enough');
    await runtime.advance(200);
    expect([seen.error, effects()]).toEqual(['enough', 0]);
  });

  it('leaves no timer behind when its signal aborts', async () => {
    const { runtime, call } = setUp();
    call();
    await runtime.settle();
    expect(runtime.pendingTimers).toBe(0);
  });
});

describe('Network.yieldToEventLoop()', () => {
  it('lets pending input and output run during an endless loop of requests', async () => {
    const { cluster } = setUp();
    const turns: number[] = [];
    setImmediate(function tick() {
      turns.push(turns.length);
      if (turns.length < 3) setImmediate(tick);
    });
    for (let calls = 0; turns.length < 3 && calls < 100_000; calls++)
      await cluster.network.call(scope, () => calls, { timeoutMs: 1_000 });
    expect(turns).toHaveLength(3);
  });

  it('keeps the order of requests, even while some wait', async () => {
    const { cluster, runtime } = setUp();
    const order: number[] = [];
    for (let index = 0; index < 300; index++)
      void cluster.network.call(scope, () => order.push(index), { timeoutMs: 1_000 });
    await runtime.settle();
    expect(order).toEqual([...Array(300).keys()]);
  });
});

describe('a fault of the memory broker', () => {
  it('refuses the request without executing it, with a named code or any error', async () => {
    const { runtime, faults, call, effects } = setUp();
    const fault = faults.refuse({ operation: 'commit' }, 'NOT_COORDINATOR', { times: 1 });
    const [refused, next] = [call(), call()];
    await runtime.settle();
    expect(refused.error).toMatchObject({ reason: 'NOT_COORDINATOR', brokerCode: 16 });
    expect([next.result, effects(), fault.hits]).toEqual([1, 1, 1]);
  });

  it('executes the request and then fails it', async () => {
    const { runtime, faults, call, effects } = setUp();
    const error = new RequestTimeoutError('too late');
    faults.failAfter({ groupId: 'g' }, error);
    const seen = call();
    await runtime.settle();
    expect([seen.error, effects()]).toEqual([error, 1]);
  });

  it('drops the response, or the request, and the client waits until its own timeout', async () => {
    const { runtime, faults, call, effects } = setUp();
    const answers = faults.loseAnswers({ groupId: 'g' });
    const first = call();
    await runtime.advance(999);
    expect([first.ended, effects()]).toEqual([false, 1]);
    await runtime.advance(1);
    expect(first.error).toBeInstanceOf(RequestTimeoutError);
    answers.lift();
    faults.loseRequests({ groupId: 'g' });
    const second = call();
    await runtime.advance(1_000);
    expect(second.error).toBeInstanceOf(RequestTimeoutError);
    expect(effects()).toBe(1);
  });

  it('delays the request, or the response', async () => {
    const { runtime, faults, call, effects } = setUp();
    const requests = faults.delayRequests({}, 100);
    const first = call();
    await runtime.advance(99);
    expect(effects()).toBe(0);
    await runtime.advance(1);
    expect(first.result).toBe(1);
    requests.lift();
    faults.delayAnswers({}, 100);
    const second = call();
    await runtime.advance(99);
    expect([effects(), second.ended]).toEqual([2, false]);
    await runtime.advance(1);
    expect(second.result).toBe(2);
  });

  it('breaks pending requests of an unplugged client, and refuses its new ones', async () => {
    const { runtime, faults, cluster, call } = setUp();
    const pending = observe(
      cluster.network.call(scope, () => new Promise(() => undefined), { timeoutMs: 1_000 }),
    );
    await runtime.settle();
    const fault = faults.unplug({ clientId: 'me' });
    const [mine, other] = [call(), call({ clientId: 'other' })];
    await runtime.settle();
    expect(pending.error).toBeInstanceOf(ConnectionError);
    expect(mine.error).toBeInstanceOf(ConnectionError);
    expect(other.result).toBe(1);
    fault.lift();
    const after = call();
    await runtime.settle();
    expect(after.result).toBe(2);
  });

  const partitions = [
    { topic: 'a', partition: 0 },
    { topic: 'b', partition: 1 },
  ];
  it.each<[FaultMatch, boolean]>([
    [{}, true],
    [{ operation: 'commit' }, true],
    [{ operation: ['join', 'commit'] }, true],
    [{ operation: 'join' }, false],
    [{ clientId: 'me', groupId: 'g' }, true],
    [{ clientId: 'other' }, false],
    [{ memberId: 'm' }, false],
    [{ topic: 'a' }, true],
    [{ topic: 'b', partition: 1 }, true],
    [{ topic: 'a', partition: 1 }, false],
    [{ topic: 'c' }, false],
  ])('matches the request, with filter %j: %s', async (match, isMet) => {
    const { runtime, faults, call } = setUp();
    faults.refuse(match, new Error('met'));
    const seen = call({ partitions });
    await runtime.settle();
    expect(seen.error !== undefined).toBe(isMet);
  });
});
