import { Injectable } from '@nestjs/common';
import { DltHandler } from '../../src/discovery/decorators/dlt-decorators.js';
import { RecordingTestBus } from '../support/recording-test-bus.spec-support.js';

let testBus: RecordingTestBus;

const ONE_CALL = { tier0: { maxAttempts: 1 } };
const ONE_TIER = { ...ONE_CALL, tiers: [{ delayMs: 10_000, maxAttempts: 1 }] };
const NO_TIER = { ...ONE_CALL, tiers: [] };

beforeEach(async () => {
  testBus = await RecordingTestBus.create();
});
afterEach(() => testBus.end());

/** Lines of the failure log, without their JSON and their stack. */
const lines = (given: readonly string[]): readonly string[] =>
  given.filter((line) => line.includes('fail')).map((line) => line.split(' {', 1)[0]!);

describe('The failure log', () => {
  it('reports the first failed call at once, with the time of the next call', async () => {
    const tier0 = { maxAttempts: 3, initialBackoffMs: 200, jitter: 'none' } as const;
    await testBus.startHandler({ retry: { tier0, tiers: [] } });
    await testBus.write('orders', '1');
    expect(testBus.calls).toHaveLength(1);
    expect(lines(testBus.log.warnings)).toEqual([
      "Record orders-0@0 of binding 'orders' failed: Error: the warehouse does not answer. Its handler is called again in 200 ms: call 2 of 3.",
    ]);
  });

  it('reports each failed call once, with its numbers, and the last one as an error', async () => {
    const tier0 = { maxAttempts: 3, initialBackoffMs: 200, multiplier: 2, jitter: 'none' } as const;
    await testBus.startHandler({ retry: { tier0, tiers: [] } });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(10_000);
    expect(attempts(testBus.log.warnings)).toEqual([
      { call: 1, delivery: 1, tier: 0, total: 1 },
      { call: 2, delivery: 1, tier: 0, total: 2 },
    ]);
    expect(lines(testBus.log.errors)).toEqual([
      "Record orders-0@0 of binding 'orders' failed: Error: the warehouse does not answer. It goes to orders.DLT: RETRIES_EXHAUSTED, exhausted.",
    ]);
    expect(attempts(testBus.log.errors)).toEqual([{ call: 3, delivery: 1, tier: 0, total: 3 }]);
  });

  it('names the retry topic and the due time, and then the dead-letter topic', async () => {
    await testBus.startHandler({ retry: ONE_TIER });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(20_000);
    const due = new Date(testBus.calls[0]!.at + 10_000).toISOString();
    expect(lines(testBus.log.warnings)).toEqual([
      `Record orders-0@0 of binding 'orders' failed: Error: the warehouse does not answer. It goes to orders.retry-1, due ${due} (in 10 s).`,
    ]);
    expect(lines(testBus.log.errors)).toEqual([
      "Record orders.retry-1-0@0 of binding 'orders' failed: Error: the warehouse does not answer. It goes to orders.DLT: RETRIES_EXHAUSTED, exhausted.",
    ]);
    expect(testBus.log.errors[0]).toContain('"origin":"orders-0@0"');
  });

  it('reports the delay until a record that stays in its place is delivered again', async () => {
    const retry = { ...NO_TIER, tier0: { maxAttempts: 2, initialBackoffMs: 700, jitter: 'none' } };
    await testBus.startHandler({ retry: { ...retry, mode: 'seek' } as never });
    await testBus.write('orders', '1');
    expect(lines(testBus.log.warnings)).toEqual([
      "Record orders-0@0 of binding 'orders' failed: Error: the warehouse does not answer. It stays in its place, and is delivered again in 700 ms.",
    ]);
  });

  it('reports that a partition waits for a decision', async () => {
    await testBus.startHandler({
      retry: NO_TIER,
      orderingMode: 'STRICT',
      strictExhaustion: 'PAUSE_PARTITION',
    });
    await testBus.write('orders', '1');
    expect(lines(testBus.log.errors)).toEqual([
      "Record orders-0@0 of binding 'orders' failed: Error: the warehouse does not answer. Its partition waits for a decision: call connector.decide().",
    ]);
  });

  it('reports that a dead-letter handler has discarded the record', async () => {
    @Injectable()
    class Letters {
      @DltHandler('orders')
      onLetter(): 'discard' {
        return 'discard';
      }
    }
    await testBus.startHandler({ retry: NO_TIER, dlt: { strategy: 'CUSTOM' } }, [Letters]);
    await testBus.write('orders', '1');
    expect(lines(testBus.log.errors)).toEqual([
      "Record orders-0@0 of binding 'orders' failed: Error: the warehouse does not answer. Its @DltHandler has discarded it.",
    ]);
  });

  it('reports a failure once, however often the write of its record is repeated', async () => {
    const fault = testBus.broker.faults.refuse(
      { operation: 'produce', topic: 'orders.DLT' },
      'TOPIC_AUTHORIZATION_FAILED',
    );
    await testBus.startHandler({ retry: NO_TIER });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(60_000);
    fault.lift();
    await testBus.runtime.advance(60_000);
    expect(await testBus.deadLetters()).toEqual(['1']);
    expect(testBus.log.errors.filter((line) => line.startsWith('Record '))).toHaveLength(1);
  });

  it('has class, message and stack, as far as exceptionDetail and redact allow', async () => {
    const handle = (): never => {
      throw new TypeError('no card 4111');
    };
    const textWith = async (dlt: object): Promise<string> => {
      testBus = await RecordingTestBus.create();
      testBus.handle = handle;
      await testBus.startHandler({ retry: NO_TIER, dlt });
      await testBus.write('orders', '1');
      await testBus.end();
      return testBus.log.errors.join('\n');
    };
    const full = await textWith({});
    expect(full).toContain('TypeError: no card 4111. It goes');
    expect(full).toMatch(/\n {4}at .*failure-log\.spec/);
    const byClass = await textWith({ exceptionDetail: 'class' });
    expect(byClass).toContain('failed: TypeError. It goes');
    expect(byClass).not.toContain('4111');
    expect(byClass).not.toContain('    at ');
    const redacted = await textWith({ redact: () => ({ message: 'no card' }) });
    expect(redacted).toContain('TypeError: no card. It goes');
    expect(redacted).not.toContain('4111');
  });
});

describe('The failure log in an outage', () => {
  const records = (from: number, count: number): string[] =>
    Array.from({ length: count }, (_, index) => String(from + index));

  it('logs five failures per minute in full, then their number, and then their end', async () => {
    await testBus.startHandler({ retry: ONE_TIER, maxPollRecords: 500 });
    await testBus.write('orders', ...records(0, 100));
    await testBus.runtime.advance(5_000);
    expect(lines(testBus.log.warnings)).toHaveLength(5);
    testBus.handle = () => undefined;
    await testBus.runtime.advance(61_000);
    expect(lines(testBus.log.warnings).slice(5)).toEqual([
      "… 95 more failures of binding 'orders' in the last minute: Error: the warehouse does not answer",
    ]);
    await testBus.runtime.advance(61_000);
    expect(lines(testBus.log.warnings).slice(6)).toEqual([
      expect.stringContaining(
        "No more failures of binding 'orders' for a minute: Error: the warehouse does not answer. There were 100 within",
      ),
    ]);
    await testBus.runtime.advance(600_000);
    expect(lines(testBus.log.warnings)).toHaveLength(7);
  });

  it('counts records that are given up, also if retried records have reached the limit of lines', async () => {
    await testBus.startHandler({ retry: ONE_TIER, maxPollRecords: 500 });
    await testBus.write('orders', ...records(0, 20));
    await testBus.runtime.advance(20_000);
    expect(lines(testBus.log.errors)).toHaveLength(5);
    await testBus.runtime.advance(45_000);
    expect(lines(testBus.log.errors)[5]).toBe(
      "… 30 more failures of binding 'orders' in the last minute, of them 15 given up: Error: the warehouse does not answer",
    );
  });

  it('stays bounded if every error has another text', async () => {
    let calls = 0;
    testBus.handle = () => {
      throw new Error(`order ${++calls} failed`);
    };
    await testBus.startHandler({ retry: ONE_TIER, maxPollRecords: 500 });
    await testBus.write('orders', ...records(0, 200));
    await testBus.runtime.advance(5_000);
    testBus.handle = () => undefined;
    await testBus.runtime.advance(61_000);
    expect(lines(testBus.log.warnings)).toHaveLength(26);
    expect(lines(testBus.log.warnings).at(-1)).toContain('… 175 more failures');
    expect(lines(testBus.log.warnings).at(-1)).toContain('other errors');
  });

  it('logs every record for which its partition waits', async () => {
    await testBus.topic('wide', 8);
    await testBus.startHandler({
      topic: 'wide',
      retry: NO_TIER,
      orderingMode: 'STRICT',
      strictExhaustion: 'PAUSE_PARTITION',
    });
    for (let partition = 0; partition < 8; partition++)
      await testBus.write('wide', { partition, value: '1' });
    expect(lines(testBus.log.errors)).toHaveLength(8);
  });

  it('logs what was counted when the application is closed', async () => {
    const application = await testBus.startHandler({ retry: ONE_TIER, maxPollRecords: 500 });
    await testBus.write('orders', ...records(0, 10));
    await testBus.done(application.close());
    expect(lines(testBus.log.warnings).at(-1)).toContain('… 5 more failures');
    expect(testBus.runtime.pendingTimers).toBe(0);
  });
});

describe('failureLog', () => {
  it('has a level for failures that are tried again, and leaves the others errors', async () => {
    await testBus.startHandler({ retry: ONE_TIER, failureLog: { level: 'info' } });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(20_000);
    expect(lines(testBus.log.warnings)).toEqual([]);
    expect(testBus.log.infos.filter((line) => line.startsWith('Record '))).toHaveLength(1);
    expect(lines(testBus.log.errors)).toHaveLength(1);
  });

  it("logs only records that are given up with level 'off'", async () => {
    await testBus.startHandler({ retry: ONE_TIER, failureLog: { level: 'off' } });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(20_000);
    expect(lines([...testBus.log.warnings, ...testBus.log.infos])).toEqual([]);
    expect(lines(testBus.log.errors)).toHaveLength(1);
  });

  it('limits the lines per minute for one error', async () => {
    const failureLog = { perGroupPerMinute: 2 };
    await testBus.startHandler({ retry: ONE_TIER, maxPollRecords: 500, failureLog });
    await testBus.write('orders', '1', '2', '3', '4');
    expect(lines(testBus.log.warnings)).toHaveLength(2);
  });
});

/** The numbers of the attempts in the lines of the failure log. */
function attempts(given: readonly string[]): readonly unknown[] {
  return given
    .filter((line) => line.startsWith('Record '))
    .map((line) => line.slice(line.indexOf(' {') + 1).split('\n', 1)[0]!)
    .map((json) => (JSON.parse(json) as { readonly attempt: unknown }).attempt);
}
