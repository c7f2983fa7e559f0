import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import { aFailedRecord } from '../../model/events/events.spec-support.js';
import type { FailureGroup } from './failure-group.js';
import { FailureLog } from './failure-log.js';

let runtime: VirtualRuntime;
let lines: string[];
let openGroups: Set<FailureGroup>;
let log: FailureLog;

beforeEach(() => {
  runtime = new VirtualRuntime();
  lines = [];
  openGroups = new Set();
  const write =
    (level: string) =>
    (message: string): void =>
      void lines.push(`${level} ${message}`);
  log = new FailureLog({
    binding: { name: 'orders', failureLog: { level: 'warn', perGroupPerMinute: 2 } },
    runtime,
    logger: {
      debug: write('debug'),
      info: write('info'),
      warn: write('warn'),
      error: write('error'),
    },
    openGroups,
  });
});

const fail = (times: number, given: Parameters<typeof aFailedRecord>[0] = {}): void => {
  for (let index = 0; index < times; index++) log.observe(aFailedRecord(given));
};

describe('FailureLog', () => {
  it('logs the first failures of every minute in full', async () => {
    fail(10);
    expect(lines).toHaveLength(2);
    await runtime.advance(60_000);
    expect(lines.slice(2)).toEqual([expect.stringContaining('… 8 more failures')]);
    fail(10);
    expect(lines.slice(3)).toHaveLength(2);
  });

  it('has a limit of its own for each error', () => {
    fail(3, { message: 'one' });
    fail(3, { message: 'another' });
    expect(lines).toHaveLength(4);
  });

  it('logs no end of failures that were all logged in full', async () => {
    fail(1);
    await runtime.advance(600_000);
    expect(lines).toHaveLength(1);
    expect([openGroups.size, runtime.pendingTimers]).toEqual([0, 0]);
  });

  it('writes large numbers so that they can be read', async () => {
    fail(1_236);
    await runtime.advance(60_000);
    expect(lines.at(-1)).toContain('… 1,234 more failures');
    await runtime.advance(60_000);
    expect(lines.at(-1)).toContain('There were 1,236 within 0 ms.');
  });

  it('writes one line, whatever the message of the error contains', () => {
    const message = 'no stock\r\nERROR forged \u001b[31m';
    fail(1, { message });
    fail(1, { message: 'red \u001b[31m' });
    expect(lines[0]).toContain('TypeError: no stock. It stays in its place');
    expect(lines[1]).toContain('TypeError: red  [31m. It stays');
  });

  it('leaves out the message of an error that has none', () => {
    fail(1);
    expect(lines[0]).toBe(
      "warn Record orders-0@17 of binding 'orders' failed: TypeError. It stays in its place, and is delivered again in 1 s.",
    );
  });
});
