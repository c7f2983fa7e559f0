import { causeGroupOf, firstApplicationFrame, type GroupedFailure } from './cause-group.js';

const failure = (parts: Partial<GroupedFailure> = {}): GroupedFailure => ({
  binding: 'orders',
  lastExceptionClass: 'TypeError',
  dltCause: 'exhausted',
  ...parts,
});

const stack = (message: string, line: number): string =>
  `TypeError: ${message}
    at Object.query (/app/node_modules/pg/lib/client.js:526:17)
    at process.processTicksAndRejections (node:internal/process/task_queues:105:5)
    at Stock.reserve (/app/dist/stock/stock.service.js:${line}:11)
    at Orders.onPlaced (/app/dist/orders/orders.handler.js:10:5)`;

describe('causeGroupOf()', () => {
  it('never depends on the message or on line numbers', () => {
    const one = failure({ lastExceptionStacktrace: stack('order 1 failed', 12) });
    const other = failure({ lastExceptionStacktrace: stack('order 2 failed', 99) });
    expect(causeGroupOf(one)).toBe(causeGroupOf(other));
  });

  it.each<[string, Partial<GroupedFailure>]>([
    ['binding', { binding: 'payments' }],
    ['exception class', { lastExceptionClass: 'RangeError' }],
    ['cause', { dltCause: 'validation' }],
    ['frame', { lastExceptionStacktrace: stack('x', 1).replace('Stock.reserve', 'Stock.free') }],
  ])('depends on the %s', (_, parts) => {
    const base = failure({ lastExceptionStacktrace: stack('x', 1) });
    expect(causeGroupOf({ ...base, ...parts })).not.toBe(causeGroupOf(base));
  });
});

describe('firstApplicationFrame()', () => {
  it.each([
    [stack('x', 12), 'Stock.reserve (stock/stock.service.js)'],
    ['E\n    at /srv/other/dist/stock/stock.js:1:2', 'stock/stock.js'],
    ['E\n    at C:\\app\\dist\\stock.js:1:2', 'dist\\stock.js'],
    ['E\n\tat com.acme.Stock.reserve(Stock.java:12)', 'com.acme.Stock.reserve(Stock.java)'],
    ['E\n\tat java.util.Map.get(Map.java:1)\n\tat com.acme.A.b(A.java:2)', 'com.acme.A.b(A.java)'],
    ['E: no frames', undefined],
    [undefined, undefined],
  ])('of %j is %j', (text, expected) => {
    expect(firstApplicationFrame(text)).toBe(expected);
  });

  it('takes linear time for a hostile stack trace', () => {
    const hostile = `E\n    at ${'('.repeat(50_000)}${'/a'.repeat(50_000)}`;
    expect(() => firstApplicationFrame(hostile)).not.toThrow();
  });
});
