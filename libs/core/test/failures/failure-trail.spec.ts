import type { BrokerRecord } from '@nest-event-bus/broker';
import { Injectable } from '@nestjs/common';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { headerText } from '../../src/model/records/header-text.js';
import { readDeadLetter } from '../../src/failures/headers/read-dead-letter.js';
import { TestBus } from '../support/test-bus.spec-support.js';

const RETRIES = [1, 2, 3].map((tier) => `orders.retry-${tier}`);

let testBus: TestBus;
let calledAt: number[];

@Injectable()
class Orders {
  @EventHandler('orders')
  handle(): never {
    calledAt.push(testBus.runtime.now());
    throw new RangeError('the warehouse does not answer');
  }
}

beforeEach(async () => {
  testBus = new TestBus();
  calledAt = [];
  for (const topic of ['orders', ...RETRIES, 'orders.DLT']) await testBus.topic(topic);
});
afterEach(() => testBus.end());

const headerTexts = ({ headers }: BrokerRecord, ...names: readonly string[]) =>
  names.map((name) => headerText(headers, `x-eventbus-${name}`));

describe('A record that fails permanently', () => {
  it('carries its attempts of each tier through all retry topics into the dead letter', async () => {
    await testBus.startOrders([Orders]);
    await testBus.write('orders', '"poison"');
    await testBus.runtime.advance(20 * 60_000);
    const hops = (await Promise.all(RETRIES.map((topic) => testBus.records(topic)))).flat();
    expect(
      hops.map((hop) => headerTexts(hop, 'retry-tier', 'retry-attempt', 'total-attempts')),
    ).toEqual([
      ['1', '1', '3'],
      ['1', '2', '6'],
      ['1', '3', '9'],
      ['2', '1', '12'],
      ['2', '2', '15'],
      ['2', '3', '18'],
      ['3', '1', '21'],
      ['3', '2', '24'],
      ['3', '3', '27'],
    ]);
    // Calls in each tier so far; the header of a tier is written when the record leaves it.
    const attempts = ['tier0-attempts', 'tier1-attempts', 'tier2-attempts', 'tier3-attempts'];
    expect(hops.map((hop) => headerTexts(hop, ...attempts))).toEqual([
      ['3', undefined, undefined, undefined],
      ['3', '3', undefined, undefined],
      ['3', '6', undefined, undefined],
      ['3', '9', undefined, undefined],
      ['3', '9', '3', undefined],
      ['3', '9', '6', undefined],
      ['3', '9', '9', undefined],
      ['3', '9', '9', '3'],
      ['3', '9', '9', '6'],
    ]);
    // The time when a tier was exhausted is written when the record leaves it, and is kept afterwards.
    const left = (hop: BrokerRecord) =>
      [0, 1, 2, 3].filter((tier) => headerTexts(hop, `tier${tier}-exhausted-at`)[0] !== undefined);
    expect(hops.map(left)).toEqual([
      ...[[0], [0], [0]],
      ...[
        [0, 1],
        [0, 1],
        [0, 1],
      ],
      ...[
        [0, 1, 2],
        [0, 1, 2],
        [0, 1, 2],
      ],
    ]);
    const [letter] = await testBus.records('orders.DLT');
    const { tierHistory, totalAttempts } = readDeadLetter(letter!);
    expect([totalAttempts, calledAt.length]).toEqual([30, 30]);
    expect(tierHistory.map(({ tier, attempts: calls }) => [tier, calls])).toEqual([
      [0, 3],
      [1, 9],
      [2, 9],
      [3, 9],
    ]);
    for (const { exceptionClass } of tierHistory) expect(exceptionClass).toBe('RangeError');
    // The time is that of the tier's last call, and is equal in all later records.
    const last = [2, 11, 20, 29].map((index) => calledAt[index]!);
    for (const [tier, { exhaustedAt }] of tierHistory.entries()) {
      expect(exhaustedAt).toBeGreaterThanOrEqual(last[tier]!);
      expect(exhaustedAt).toBeLessThan(last[tier]! + 100);
      for (const hop of hops.filter((each) => left(each).includes(tier)))
        expect(headerTexts(hop, `tier${tier}-exhausted-at`)).toEqual([String(exhaustedAt)]);
    }
  });
});

describe('retry.tiers[].multiplier', () => {
  it('makes each delay of a tier longer than the one before, up to maxDelayMs', async () => {
    const tier = { delayMs: 1_000, multiplier: 3, maxDelayMs: 20_000, maxAttempts: 5 };
    await testBus.startOrders([Orders], { retry: { tier0: { maxAttempts: 1 }, tiers: [tier] } });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(5 * 60_000);
    const waits = calledAt.slice(1).map((at, index) => at - calledAt[index]!);
    const expected = [1_000, 3_000, 9_000, 20_000, 20_000];
    expect(waits).toHaveLength(expected.length);
    for (const [index, wait] of waits.entries()) {
      expect(wait).toBeGreaterThanOrEqual(expected[index]!);
      expect(wait).toBeLessThan(expected[index]! + 200);
    }
    expect(await testBus.records('orders.DLT')).toHaveLength(1);
  });
});
