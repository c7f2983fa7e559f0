import { EventBusException, type DltReplayService } from '@nest-event-bus/core';
import { describeWithKafka } from '../../support/index.js';
import { RedrivenOrders } from '../support/redriven-orders.js';

const LETTERS = 20;
const NOTE = { by: 'mallory', reason: 'hostile' };
const POSITION = { partition: 0, offset: 0 };

const CONDITIONS: readonly unknown[] = [
  ...[null, true, Number.NaN, -0.5, [], {}, /a+/, { regex: '(a+)+$' }, { in: [] }, { in: [{}] }],
  ...[{ prefix: '' }, { from: 5, to: 5 }, { $gt: 0 }, { in: ['a'], prefix: 'a' }],
  'x'.repeat(1_001),
];
const FIELDS = [
  ...['exceptionClass', 'group', 'key', 'originalOffset', 'tier', 'binding', 'reason', 'cause'],
  '$where',
];
const EDITS: readonly unknown[] = [
  ...[null, {}, [], 'value', { valu: '1' }, { value: 7 }, { key: {} }, { partition: 3 }],
  ...[{ headers: { 'x-eventbus-group-id': 'a' } }, { headers: { a: 1 } }, { headers: {} }],
];
const TARGETS: readonly unknown[] = [null, 7, 'orders', { topic: 'a/b' }, { tier: 1.5 }, { to: 1 }];

type Call = (replay: DltReplayService) => unknown;

/** Requests of hostile callers, all of which are refused before anything is written. */
function calls(): readonly Call[] {
  const filters = FIELDS.flatMap((field) =>
    CONDITIONS.map((condition) => ({ [field]: condition }) as { readonly key: string }),
  );
  return [
    ...filters.flatMap((where): readonly Call[] => [
      (replay) => replay.plan('orders', { where }),
      (replay) => replay.markPermanentlyFailed('orders', { where }, NOTE),
    ]),
    ...EDITS.map(
      (edit): Call =>
        (replay) =>
          replay.editAndReplay('orders', POSITION, edit as { value: string }, NOTE),
    ),
    ...TARGETS.map(
      (to): Call =>
        (replay) =>
          replay.plan('orders', { all: true, to: to as 'origin' }),
    ),
  ];
}

describeWithKafka('A hostile request on a real broker', ({ brokers }) => {
  let orders: RedrivenOrders;

  afterEach(() => orders.end());

  it('gets a typed error and moves nothing', async () => {
    orders = new RedrivenOrders(brokers, 1);
    await orders.prepare(LETTERS);
    const replay = await orders.replayService();
    const errors: unknown[] = [];
    for (const call of calls())
      await (async () => call(replay))().then(
        () => errors.push('was accepted'),
        (error: unknown) => errors.push(error),
      );
    expect(errors.length).toBeGreaterThan(200);
    expect(errors.filter((error) => !(error instanceof EventBusException))).toEqual([]);
    const { letters } = await replay.list('orders', { status: 'open' });
    expect(letters).toHaveLength(LETTERS);
    const marks = await orders.admin.watermarks(orders.topic);
    expect(marks.map(({ high }) => high)).toEqual([0]);
    const names = (await orders.admin.topics()).map(({ name }) => name);
    // No request has come so far as to create the ledger.
    expect(names).not.toContain(`${orders.deadLetterTopic}.ledger`);
  }, 120_000);
});
