import type { OutgoingRecord } from '@nest-event-bus/broker';
import { DltStatsService } from '../../src/redrive/stats/dlt-stats-service.js';
import { RedriveTestBus } from './redrive-test-bus.spec-support.js';

let testBus: RedriveTestBus;

afterEach(() => testBus.end());

const LETTERS = 10_000;
const AT_ONCE = 2_000;
const CLASSES = ['OutOfStock', 'TimeoutError', 'TypeError'];
const TENANTS = ['acme', 'bolt', 'core', 'dune', 'east'];

/** What a letter is, as a plain object. Everything follows from its index. */
const factsOf = (index: number) => ({
  exceptionClass: CLASSES[index % CLASSES.length]!,
  tenant: TENANTS[index % TENANTS.length]!,
  key: `order-${index % 100}`,
  tier: index % 4,
  at: 1_700_000_000_000 + index,
  isOurs: index % 7 !== 0,
});

type Facts = ReturnType<typeof factsOf>;

function letterOf(index: number): OutgoingRecord {
  const facts = factsOf(index);
  const headers = {
    tenant: facts.tenant,
    'x-eventbus-header-profiles': 'eventbus',
    'x-eventbus-binding-name': 'orders',
    'x-eventbus-group-id': facts.isOurs ? 'shop' : 'billing',
    'x-eventbus-original-topic': 'orders',
    'x-eventbus-original-partition': '0',
    'x-eventbus-original-offset': String(index),
    'x-eventbus-dlt-timestamp': String(facts.at),
    'x-eventbus-last-exception-class': facts.exceptionClass,
    [`x-eventbus-tier${facts.tier}-attempts`]: '1',
  };
  return {
    ...{ topic: 'orders.DLT', partition: 0, key: facts.key, value: String(index) },
    headers: Object.entries(headers).map(([key, value]) => ({ key, value })),
  };
}

async function writeLetters(from: number, letters: number): Promise<void> {
  for (let first = from; first < from + letters; first += AT_ONCE)
    await testBus.write(
      'orders.DLT',
      ...Array.from({ length: AT_ONCE }, (_, index) => letterOf(first + index)),
    );
}

const all = Array.from({ length: LETTERS }, (_, index) => factsOf(index));
const naive = (matches: (facts: Facts) => boolean): readonly number[] =>
  all.flatMap((facts, index) => (facts.isOurs && matches(facts) ? [index] : []));

const CASES: readonly (readonly [string, object, (facts: Facts) => boolean])[] = [
  ['an exception class', { exceptionClass: 'TypeError' }, (f) => f.exceptionClass === 'TypeError'],
  [
    'a header',
    { headers: { tenant: { in: ['acme', 'east'] } } },
    (f) => /acme|east/.test(f.tenant),
  ],
  ['a beginning of keys', { key: { prefix: 'order-1' } }, (f) => f.key.startsWith('order-1')],
  ['a tier', { tier: { from: 2 } }, (f) => f.tier >= 2],
  [
    'times and a tier',
    { deadLetteredAt: { from: 1_700_000_000_500, to: 1_700_000_004_000 }, tier: 1 },
    (f) => f.at >= 1_700_000_000_500 && f.at < 1_700_000_004_000 && f.tier === 1,
  ],
  ['a binding', { binding: 'orders' }, () => true],
];

describe(`A plan of ${LETTERS} letters`, () => {
  beforeEach(async () => {
    testBus = await RedriveTestBus.withLetters([]);
    testBus.cure();
    await writeLetters(0, LETTERS);
  }, 120_000);

  it('selects by filter and by group what a naive reference selects', async () => {
    for (const [what, where, matches] of CASES) {
      const plan = await testBus.done(testBus.replay.plan('orders', { where }));
      expect([what, plan.selected]).toEqual([what, naive(matches).length]);
      const counted = new Map(
        plan.groups.map(({ exceptionClass, count }) => [exceptionClass, count]),
      );
      for (const name of CLASSES) {
        const wanted = naive((facts) => matches(facts) && facts.exceptionClass === name).length;
        expect([what, name, counted.get(name) ?? 0]).toEqual([what, name, wanted]);
      }
    }
    const { groups } = await testBus.done(testBus.replay.plan('orders', { all: true }));
    for (const { id, exceptionClass } of groups) {
      const { selected } = await testBus.done(
        testBus.replay.plan('orders', { where: { group: id } }),
      );
      expect(selected).toBe(naive((facts) => facts.exceptionClass === exceptionClass).length);
    }
  }, 240_000);

  it('is what its run replays, while new letters arrive', async () => {
    const where = { headers: { tenant: 'bolt' } };
    const plan = await testBus.done(testBus.replay.plan('orders', { where }));
    const running = Promise.resolve(testBus.replay.run('orders', plan.id, { rate: 2_000 }));
    await writeLetters(LETTERS, AT_ONCE);
    const report = await testBus.done(running);
    expect(report).toMatchObject({
      selected: plan.selected,
      replayed: plan.selected,
      remaining: 0,
    });
    const expected = naive(({ tenant }) => tenant === 'bolt').map(String);
    expect(await testBus.values('orders')).toEqual(expected);
  }, 240_000);

  it('is counted by statistics that sum to what is there, during a purge and new letters', async () => {
    const stats = () => testBus.done(testBus.application.get(DltStatsService).stats('orders'));
    const before = await stats();
    expect(before.count).toBe(naive(() => true).length);
    const { id } = await testBus.done(
      testBus.replay.plan('orders', { where: { originalOffset: { from: 1, to: 7 } } }),
    );
    // The first letter belongs to another group, so nothing may be purged in front of it.
    const stopped = await testBus.done(testBus.replay.purge('orders', { plan: id }));
    expect(stopped.partitions[0]?.stoppedBy).toBe('other-binding');
    await testBus.done(
      testBus.outside.admin().deleteRecords('orders.DLT', [{ partition: 0, offset: 1 }]),
    );
    const [purged] = await Promise.all([
      testBus.done(testBus.replay.purge('orders', { plan: id })),
      writeLetters(LETTERS, AT_ONCE),
    ]);
    expect(purged.deleted).toBe(6);
    const after = await stats();
    const arrived = Array.from({ length: AT_ONCE }, (_, index) => factsOf(LETTERS + index));
    const ours = arrived.filter(({ isOurs }) => isOurs).length;
    expect(after.count).toBe(before.count - purged.deleted + ours);
    for (const counts of [after.byException, after.byTier, after.byBinding, after.byStatus])
      expect(Object.values(counts).reduce((sum, each) => sum + each, 0)).toBe(after.count);
  }, 240_000);
});
