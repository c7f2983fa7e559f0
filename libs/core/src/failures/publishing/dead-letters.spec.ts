import { Deferred, VirtualRuntime } from '@nest-event-bus/broker/runtime';
import type { DltRecord } from '../../model/records/dlt-record.js';
import type { DltStrategy } from '../../model/outcomes/dlt-strategy.js';
import { DeadLetters, type DltListener } from './dead-letters.js';
import type { FailureReport } from '../../model/outcomes/failure-report.js';

const described = { originalTopic: 'orders', dltReason: 'NON_RETRYABLE' } as DltRecord;
const report = { record: { topic: 'orders', partition: 0, offset: 0 } } as FailureReport;
const letter = { reason: 'NON_RETRYABLE', cause: 'validation' } as const;

let runtime: VirtualRuntime;
let written: DltRecord[];
let errors: string[];
let publish: () => Promise<DltRecord>;

beforeEach(() => {
  runtime = new VirtualRuntime();
  written = [];
  errors = [];
  publish = async () => {
    written.push(described);
    return described;
  };
});

const listener = (invoke: DltListener['invoke'], origin = 'Alerts.notify'): DltListener => ({
  origin,
  invoke,
});

function deadLetters(
  strategy: DltStrategy,
  parts: { handlers?: readonly DltListener[]; alerts?: readonly DltListener[] } = {},
): DeadLetters {
  const quiet = (): void => undefined;
  const error = (line: string): void => void errors.push(line);
  return new DeadLetters({
    binding: { name: 'orders', dlt: { strategy, handlerTimeoutMs: 10_000 } } as never,
    publisher: { publish: () => publish(), describe: () => described },
    handlers: [],
    alerts: [],
    runtime,
    logger: { debug: quiet, info: quiet, warn: quiet, error },
    ...parts,
  });
}

const accept = (letters: DeadLetters) =>
  letters.accept(report, letter, new AbortController().signal);

describe('DeadLetters with STORE_ONLY', () => {
  it('writes the record and calls no listener', async () => {
    const notify = jest.fn();
    const listeners = [listener(notify)];
    const letters = deadLetters('STORE_ONLY', { handlers: listeners, alerts: listeners });
    expect(await accept(letters)).toBe('stored');
    expect(written).toEqual([described]);
    expect(notify).not.toHaveBeenCalled();
  });

  it('rejects if the record cannot be written', async () => {
    publish = () => Promise.reject(new Error('no such topic'));
    await expect(accept(deadLetters('STORE_ONLY'))).rejects.toThrow('no such topic');
  });
});

describe('DeadLetters with ALERT_AND_STORE', () => {
  it('calls every alert after the record was written', async () => {
    const seen: unknown[] = [];
    const alert = listener((record) => void seen.push([record, written.length]));
    expect(await accept(deadLetters('ALERT_AND_STORE', { alerts: [alert, alert] }))).toBe('stored');
    expect(seen).toEqual([
      [described, 1],
      [described, 1],
    ]);
  });

  it('calls no alert for a record that was not written', async () => {
    const notify = jest.fn();
    publish = () => Promise.reject(new Error('gone'));
    const letters = deadLetters('ALERT_AND_STORE', { alerts: [listener(notify)] });
    await expect(accept(letters)).rejects.toThrow('gone');
    expect(notify).not.toHaveBeenCalled();
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('pager is down');
      },
    ],
    ['rejects', () => Promise.reject(new Error('pager is down'))],
  ])('stores once, and logs, when an alert %s', async (_, invoke) => {
    const letters = deadLetters('ALERT_AND_STORE', { alerts: [listener(invoke)] });
    expect(await accept(letters)).toBe('stored');
    await runtime.advance(0);
    expect(written).toHaveLength(1);
    expect(errors).toEqual(['An alert failed: its dead letter is stored all the same']);
  });

  it('does not wait for an alert that never answers, and logs it after handlerTimeoutMs', async () => {
    const letters = deadLetters('ALERT_AND_STORE', {
      alerts: [listener(() => new Promise(() => undefined))],
    });
    expect(await accept(letters)).toBe('stored');
    await runtime.advance(9_999);
    expect(errors).toEqual([]);
    await runtime.advance(1);
    expect(errors).toHaveLength(1);
  });

  it('resolves whenEnded() after all alerts, also after those that began meanwhile', async () => {
    const answers = [new Deferred(), new Deferred()];
    let called = 0;
    const alert = listener(() => answers[called++]!.promise);
    const letters = deadLetters('ALERT_AND_STORE', { alerts: [alert] });
    await letters.whenEnded();
    await accept(letters);
    const ended = jest.fn();
    const ending = letters.whenEnded().then(ended);
    await accept(letters);
    expect(letters.count).toBe(2);
    answers[0]!.resolve();
    await runtime.advance(0);
    expect(ended).not.toHaveBeenCalled();
    answers[1]!.reject(new Error('pager is down'));
    await ending;
    expect(letters.count).toBe(0);
  });

  it('skips alerts beyond a limit, and logs how many', async () => {
    const answer = new Deferred();
    const notify = jest.fn(() => answer.promise);
    const letters = deadLetters('ALERT_AND_STORE', { alerts: [listener(notify)] });
    for (let count = 0; count < 130; count++) await accept(letters);
    expect(notify).toHaveBeenCalledTimes(100);
    expect(written).toHaveLength(130);
    answer.resolve();
    await runtime.advance(0);
    expect(errors).toEqual(['Alerts were left out: too many were under way']);
    await accept(letters);
    expect(notify).toHaveBeenCalledTimes(101);
  });
});

describe('DeadLetters with CUSTOM', () => {
  it("discards only when the handler returns 'discard'", async () => {
    const asked: number[] = [];
    const discard = listener(() => {
      asked.push(written.length);
      return Promise.resolve('discard');
    });
    expect(await accept(deadLetters('CUSTOM', { handlers: [discard] }))).toBe('discarded');
    expect(asked).toEqual([0]);
    expect(written).toEqual([]);
  });

  it.each([undefined, null, true, 'store', 'DISCARD', {}])('stores on %p', async (answer) => {
    const letters = deadLetters('CUSTOM', { handlers: [listener(() => answer)] });
    expect(await accept(letters)).toBe('stored');
    expect(written).toHaveLength(1);
  });

  it('stores without a handler', async () => {
    expect(await accept(deadLetters('CUSTOM'))).toBe('stored');
  });

  it('stores if one of several handlers wants it', async () => {
    const handlers = [listener(() => 'discard'), listener(() => 'store')];
    expect(await accept(deadLetters('CUSTOM', { handlers }))).toBe('stored');
  });

  it('stores if the handler throws', async () => {
    const handlers = [listener(() => Promise.reject(new Error('no')))];
    expect(await accept(deadLetters('CUSTOM', { handlers }))).toBe('stored');
    expect(errors).toEqual(['A dead-letter handler failed: its record is stored']);
  });

  it('stores after handlerTimeoutMs if the handler never answers', async () => {
    const handlers = [listener(() => new Promise(() => undefined))];
    const accepted = accept(deadLetters('CUSTOM', { handlers }));
    await runtime.advance(10_000);
    expect(await accepted).toBe('stored');
  });

  describe('with a record that cannot be written yet', () => {
    const storyAt = (offset: number) =>
      ({ record: { topic: 'orders', partition: 0, offset } }) as FailureReport;
    const { signal } = new AbortController();
    const refuse = () => Promise.reject(new Error('no such topic'));

    it('asks the handlers once per record, however often the write is repeated', async () => {
      const ask = jest.fn(() => 'store');
      const letters = deadLetters('CUSTOM', { handlers: [listener(ask)] });
      const write = publish;
      publish = refuse;
      for (const offset of [1, 1, 2, 1])
        await expect(letters.accept(storyAt(offset), letter, signal)).rejects.toThrow('no such');
      expect(ask).toHaveBeenCalledTimes(2);
      publish = write;
      expect(await letters.accept(storyAt(1), letter, signal)).toBe('stored');
      expect(ask).toHaveBeenCalledTimes(2);
      await letters.accept(storyAt(1), letter, signal);
      expect(ask).toHaveBeenCalledTimes(3);
    });

    it('remembers a limited number of answers', async () => {
      const ask = jest.fn(() => 'store');
      const letters = deadLetters('CUSTOM', { handlers: [listener(ask)] });
      publish = refuse;
      const attempt = (offset: number) =>
        letters.accept(storyAt(offset), letter, signal).catch(() => undefined);
      for (let offset = 0; offset <= 1_000; offset++) await attempt(offset);
      await attempt(1_000);
      expect(ask).toHaveBeenCalledTimes(1_001);
      await attempt(0);
      expect(ask).toHaveBeenCalledTimes(1_002);
    });
  });
});
