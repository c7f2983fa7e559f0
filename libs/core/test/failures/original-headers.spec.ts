import type { RecordHeader } from '@nest-event-bus/broker';
import { Injectable } from '@nestjs/common';
import fc from 'fast-check';
import type { HeaderProfileName } from '../../src/config/properties/dlt-properties.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { hostileHeaders } from '../../src/failures/headers/hostile-headers.spec-support.js';
import { readDeadLetter } from '../../src/failures/headers/read-dead-letter.js';
import type { EventContext } from '../../src/model/records/event-context.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { TestBus } from '../support/test-bus.spec-support.js';

const PROFILES: readonly (readonly [readonly HeaderProfileName[]])[] = [
  [['eventbus']],
  [['spring']],
  [['plain']],
  [['eventbus', 'spring', 'plain']],
];

let testBus: TestBus;
/** The headers that the handler saw in each tier, by the value of the record. */
let seen: Map<string, Map<number, readonly RecordHeader[]>>;

@Injectable()
class Orders {
  @EventHandler('orders')
  handle({ value }: EventRecord<string>, { raw, attempt }: EventContext): never {
    const ofRecord = seen.get(value) ?? new Map<number, readonly RecordHeader[]>();
    seen.set(value, ofRecord.set(attempt.tier, raw.headers));
    throw new RangeError('the warehouse does not answer');
  }
}

beforeEach(async () => {
  testBus = new TestBus();
  seen = new Map();
  for (const topic of ['orders', 'orders.retry-1', 'orders.retry-2', 'orders.DLT'])
    await testBus.topic(topic);
});
afterEach(() => testBus.end());

const RETRY = {
  tier0: { maxAttempts: 1 },
  tiers: [
    { delayMs: 10, maxAttempts: 2 },
    { delayMs: 20, maxAttempts: 1 },
  ],
};

const withValues = (all: readonly (readonly RecordHeader[])[]) =>
  all.map((headers, index) => ({ value: String(index), headers }));

const isOfProducer = ({ key }: RecordHeader): boolean => !key.startsWith('x-eventbus-');

describe('The original headers of a record that fails in every tier', () => {
  it.each(PROFILES)(
    'are seen by its handler in each tier, and restored from its dead letter, with the profiles %p',
    async (headerProfile) => {
      const all = fc.sample(hostileHeaders, { numRuns: 60, seed: 7 });
      await testBus.startOrders([Orders], {
        retry: RETRY,
        dlt: { headerProfile },
        deserializer: 'text',
      });
      await testBus.write('orders', ...withValues(all));
      await testBus.runtime.advance(60_000);
      const letters = (await testBus.records('orders.DLT')).map(readDeadLetter);
      expect(letters).toHaveLength(all.length);
      for (const { value, headers } of letters)
        expect(headers).toEqual(all[Number(value!.toString())]);
      for (const [value, tiers] of seen) {
        const producers = all[Number(value)]!.filter(isOfProducer);
        const names = new Set(producers.map(({ key }) => key));
        for (const tier of [0, 1, 2])
          expect(tiers.get(tier)!.filter(({ key }) => names.has(key))).toEqual(producers);
      }
    },
  );

  it('are restored if another binding takes the dead letters as its events and fails as well', async () => {
    @Injectable()
    class Letters {
      @EventHandler('letters')
      handle(): never {
        throw new RangeError('nobody reads letters');
      }
    }
    for (const topic of ['orders.DLT.retry-1', 'orders.DLT.retry-2', 'orders.DLT.DLT'])
      await testBus.topic(topic);
    const all = fc.sample(hostileHeaders, { numRuns: 20, seed: 11 });
    const common = { retry: RETRY, deserializer: 'text' } as const;
    const dlt = { headerProfile: [...PROFILES.at(-1)![0]] };
    const orders = { topic: 'orders', groupId: 'shop', dlt, ...common };
    const letters = { topic: 'orders.DLT', groupId: 'audit', dlt, ...common };
    const imports = [testBus.module({ bindings: { orders, letters } })];
    await testBus.start({ imports, providers: [Orders, Letters] });
    await testBus.write('orders', ...withValues(all));
    await testBus.runtime.advance(60_000);
    const first = await testBus.records('orders.DLT');
    const second = await testBus.records('orders.DLT.DLT');
    const byValue = new Map(first.map((record) => [record.value!.toString(), record]));
    expect(second).toHaveLength(all.length);
    for (const { value, headers } of second.map(readDeadLetter)) {
      const letter = byValue.get(value!.toString())!;
      expect(headers).toEqual(letter.headers);
      expect(readDeadLetter(letter).headers).toEqual(all[Number(value!.toString())]);
    }
  });
});
