import type { BrokerRecord } from '@nest-event-bus/broker';
import { Injectable } from '@nestjs/common';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { headerText } from '../../src/model/records/header-text.js';
import { readDeadLetter } from '../../src/failures/headers/read-dead-letter.js';
import { World } from '../support/application.spec-support.js';

const RETRIES = [1, 2, 3].map((tier) => `orders.retry-${tier}`);

let world: World;
let calledAt: number[];

@Injectable()
class Orders {
  @EventHandler('orders')
  handle(): never {
    calledAt.push(world.runtime.now());
    throw new RangeError('the warehouse does not answer');
  }
}

beforeEach(async () => {
  world = new World();
  calledAt = [];
  for (const topic of ['orders', ...RETRIES, 'orders.DLT']) await world.topic(topic);
});
afterEach(() => world.end());

const told = ({ headers }: BrokerRecord, ...names: readonly string[]) =>
  names.map((name) => headerText(headers, `x-eventbus-${name}`));

describe('The trail of a record that always fails', () => {
  it('says in each of its hops how far it got, and what it has behind it', async () => {
    await world.startOrders([Orders]);
    await world.write('orders', '"poison"');
    await world.runtime.advance(20 * 60_000);
    const hops = (await Promise.all(RETRIES.map((topic) => world.records(topic)))).flat();
    expect(hops.map((hop) => told(hop, 'retry-tier', 'retry-attempt', 'total-attempts'))).toEqual([
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
    // Calls in each tier so far; the one where it is has been left by nobody.
    const attempts = ['tier0-attempts', 'tier1-attempts', 'tier2-attempts', 'tier3-attempts'];
    expect(hops.map((hop) => told(hop, ...attempts))).toEqual([
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
    // A tier is exhausted once the record has left it, and that time is carried along.
    const left = (hop: BrokerRecord) =>
      [0, 1, 2, 3].filter((tier) => told(hop, `tier${tier}-exhausted-at`)[0] !== undefined);
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
    const [letter] = await world.records('orders.DLT');
    const { tierHistory, totalAttempts } = readDeadLetter(letter!);
    expect([totalAttempts, calledAt.length]).toEqual([30, 30]);
    expect(tierHistory.map(({ tier, attempts: calls }) => [tier, calls])).toEqual([
      [0, 3],
      [1, 9],
      [2, 9],
      [3, 9],
    ]);
    for (const { exceptionClass } of tierHistory) expect(exceptionClass).toBe('RangeError');
    // Written with the last call that the tier had, and the same in whatever comes behind.
    const last = [2, 11, 20, 29].map((index) => calledAt[index]!);
    for (const [tier, { exhaustedAt }] of tierHistory.entries()) {
      expect(exhaustedAt).toBeGreaterThanOrEqual(last[tier]!);
      expect(exhaustedAt).toBeLessThan(last[tier]! + 100);
      for (const hop of hops.filter((each) => left(each).includes(tier)))
        expect(told(hop, `tier${tier}-exhausted-at`)).toEqual([String(exhaustedAt)]);
    }
  });
});

describe('retry.tiers[].multiplier', () => {
  it('makes each delay of a tier longer than the one before, up to maxDelayMs', async () => {
    const tier = { delayMs: 1_000, multiplier: 3, maxDelayMs: 20_000, maxAttempts: 5 };
    await world.startOrders([Orders], { retry: { tier0: { maxAttempts: 1 }, tiers: [tier] } });
    await world.write('orders', '1');
    await world.runtime.advance(5 * 60_000);
    const waits = calledAt.slice(1).map((at, index) => at - calledAt[index]!);
    const expected = [1_000, 3_000, 9_000, 20_000, 20_000];
    expect(waits).toHaveLength(expected.length);
    for (const [index, wait] of waits.entries()) {
      expect(wait).toBeGreaterThanOrEqual(expected[index]!);
      expect(wait).toBeLessThan(expected[index]! + 200);
    }
    expect(await world.records('orders.DLT')).toHaveLength(1);
  });
});
