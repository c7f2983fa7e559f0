import { ClosedError, RequestTimeoutError } from '../../port/errors.js';
import { realRuntime, VirtualRuntime } from '../../runtime/index.js';
import { Connection } from './connection.js';
import {
  SilentBroker,
  connectionOptionsFor,
  question,
  throttlingResponse,
} from './silent-broker.spec-support.js';

describe('Connection to a throttling broker', () => {
  const FIVE_SECONDS = 5_000;
  let broker: SilentBroker;
  let runtime: VirtualRuntime;
  let connection: Connection;
  /** The throttle time of each response. */
  let throttleMs: number;
  let asked: number;
  /** If set, responses are collected here instead of being sent. */
  let held: (() => void)[] | undefined;

  beforeEach(async () => {
    broker = await new SilentBroker().listen();
    runtime = new VirtualRuntime();
    asked = 0;
    held = undefined;
    broker.onRequest = (request) => {
      asked++;
      const answer = throttlingResponse(request, throttleMs);
      const send = (): void => void broker.sockets[0]?.write(answer);
      if (held) held.push(send);
      else send();
    };
    connection = new Connection({ ...connectionOptionsFor(broker), runtime });
    await connection.open();
  });
  afterEach(() => {
    connection.close();
    broker.close();
  });

  const ask = (): Promise<number> => connection.exchange(question, { timeoutMs: 1_000 });

  /**
   * Advances the time, waits for some round trips, and asserts that the broker received no request.
   */
  async function advanceQuietly(milliseconds: number): Promise<void> {
    await runtime.advance(milliseconds);
    const other = new Connection({ ...connectionOptionsFor(broker), runtime: realRuntime });
    await other.open();
    other.close();
    expect(asked).toBe(1);
  }

  it('sends nothing during the throttle time, and does not count it towards the request timeout', async () => {
    throttleMs = FIVE_SECONDS;
    await ask();
    const next = ask();
    await advanceQuietly(FIVE_SECONDS - 1);
    await runtime.advance(1);
    expect(await next).toBe(FIVE_SECONDS);
    expect(asked).toBe(2);
  });

  it('limits the throttle time that a broker may request', async () => {
    throttleMs = 2 ** 31 - 1;
    await ask();
    const next = ask();
    await advanceQuietly(59_999);
    await runtime.advance(1);
    await next;
    expect(asked).toBe(2);
  });

  it('rejects at once when it is closed while throttled', async () => {
    throttleMs = FIVE_SECONDS;
    await ask();
    const next = ask();
    connection.close();
    await expect(next).rejects.toThrow(ClosedError);
  });

  it('does not send a request that is aborted during the throttle time', async () => {
    throttleMs = FIVE_SECONDS;
    await ask();
    const control = new AbortController();
    const options = { timeoutMs: 1_000, signal: control.signal };
    const aborted = connection.exchange(question, options).catch((error: Error) => error.message);
    const next = ask();
    control.abort();
    await runtime.advance(FIVE_SECONDS);
    await next;
    expect(await aborted).toBe('The request was aborted before it was sent.');
    expect(asked).toBe(2);
  });

  describe('while another request waits for its response', () => {
    /**
     * Sends two requests. The response to the first one throttles the client, and the second one is
     * not answered yet.
     */
    async function throttleWhileWaiting(): Promise<{
      waiting: Promise<number>;
      answer: () => void;
    }> {
      throttleMs = FIVE_SECONDS;
      held = [];
      const [first, waiting] = [ask(), ask()];
      waiting.catch(() => undefined);
      while (held.length < 2) await runtime.settle();
      held[0]?.();
      await first;
      return { waiting, answer: () => held?.[1]?.() };
    }

    it('extends the deadline of that request by the throttle time', async () => {
      const { waiting, answer } = await throttleWhileWaiting();
      await runtime.advance(FIVE_SECONDS + 999);
      answer();
      expect(await waiting).toBe(FIVE_SECONDS);
    });

    it('extends the deadline by one minute at most, however often the broker throttles', async () => {
      throttleMs = 60_000;
      held = [];
      const [first, second, waiting] = [ask(), ask(), ask()];
      waiting.catch(() => undefined);
      while (held.length < 3) await runtime.settle();
      held[0]?.();
      await first;
      await runtime.advance(50_000);
      held[1]?.();
      await second;
      await runtime.advance(10_999);
      const settled = jest.fn();
      void waiting.catch(settled);
      await runtime.settle();
      expect(settled).not.toHaveBeenCalled();
      await runtime.advance(1);
      await expect(waiting).rejects.toThrow(RequestTimeoutError);
    });

    it('rejects that request with a timeout after the extended deadline', async () => {
      const { waiting } = await throttleWhileWaiting();
      await runtime.advance(FIVE_SECONDS + 1_000);
      await expect(waiting).rejects.toThrow(RequestTimeoutError);
    });
  });
});
