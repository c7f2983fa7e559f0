import type { BrokerDriver, BrokerRecord, ProducerSession } from '@nest-event-bus/broker';
import { memory } from '@nest-event-bus/broker/memory';
import { Injectable } from '@nestjs/common';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { readRetryHistory } from '../../src/model/records/retry-history.js';
import { readDeadLetter } from '../../src/failures/headers/read-dead-letter.js';
import { TestBus } from '../support/test-bus.spec-support.js';

const CALLS = 2;
const TIERS = [
  { delayMs: 1_000, maxAttempts: 2 },
  { delayMs: 2_000, maxAttempts: 1 },
];
/** Writes of one record, in order: tier 1, tier 1 again, tier 2, dead-letter topic. */
const HOPS = ['1.1', '1.2', '2.1', 'the dead letter'] as const;

let testBus: TestBus;

beforeEach(async () => {
  testBus = new TestBus();
  for (const topic of ['orders', 'orders.retry-1', 'orders.retry-2', 'orders.DLT'])
    await testBus.topic(topic);
});
afterEach(() => testBus.end());

/** A process as the broker sees it. After a kill, none of its requests arrives. */
class Process {
  isDead = false;
  calls = 0;
  #sends = 0;

  constructor(
    private readonly clientId: string,
    private readonly diesAt:
      { readonly send: number; readonly when: 'before' | 'after' } | undefined,
  ) {}

  async start(): Promise<void> {
    const alive = (): Promise<void> => this.#handled();
    @Injectable()
    class Orders {
      @EventHandler('orders')
      handle(): Promise<void> {
        return alive();
      }
    }
    const retry = { tier0: { maxAttempts: CALLS, initialBackoffMs: 10 }, tiers: TIERS };
    const orders = { topic: 'orders', groupId: 'shop', retry };
    const bus = testBus.module({ driver: this.#driver(), bindings: { orders } });
    await testBus.start({ imports: [bus], providers: [Orders] });
  }

  /** Calls of a dead process never return and are not counted. */
  #handled(): Promise<void> {
    if (this.isDead) return new Promise(() => undefined);
    this.calls += 1;
    return Promise.reject(new RangeError('the warehouse does not answer'));
  }

  #driver(): BrokerDriver {
    const driver = memory({ broker: testBus.broker, clientId: this.clientId });
    return {
      name: driver.name,
      capabilities: driver.capabilities,
      consumer: (options) => driver.consumer(options),
      admin: () => driver.admin(),
      producer: (options) => this.#watched(driver.producer(options)),
      close: () => driver.close(),
    };
  }

  #watched(producer: ProducerSession): ProducerSession {
    const send: ProducerSession['send'] = async (records, options) => {
      this.#sends += 1;
      const isLast = this.#sends === this.diesAt?.send;
      if (isLast && this.diesAt?.when === 'before') this.#die();
      const written = await producer.send(records, options);
      if (isLast) this.#die();
      return written;
    };
    return new Proxy(producer, {
      get(target, key) {
        if (key === 'send') return send;
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
  }

  #die(): void {
    this.isDead = true;
    testBus.broker.faults.unplug({ clientId: this.clientId });
  }
}

const counters = (record: BrokerRecord): string => {
  const tier = record.topic === 'orders.retry-1' ? 1 : 2;
  const { delivery, totalAttempts, attemptsInTier } = readRetryHistory(record, tier);
  return `${tier}.${delivery} after ${totalAttempts}, ${attemptsInTier} of them here`;
};

const WITHOUT_KILL = [
  '1.1 after 2, 0 of them here',
  '1.2 after 4, 2 of them here',
  '2.1 after 6, 0 of them here',
];

describe('A process that is killed between two writes of a failing record', () => {
  const cases = HOPS.flatMap((name, index) =>
    (['before', 'after'] as const).map((when) => [when, name, index + 1] as const),
  );

  it.each(cases)(
    'loses nothing, and the counters in the headers are right: killed %s the write of %s',
    async (when, _name, send) => {
      const first = new Process('first', { send, when });
      await first.start();
      await testBus.write('orders', '"poison"');
      await testBus.runtime.advance(20_000);
      expect(first.isDead).toBe(true);
      const second = new Process('second', undefined);
      await second.start();
      await testBus.runtime.advance(5 * 60_000);

      // A record that was written but not committed is delivered again, so all later records exist twice.
      const copies = (hop: number): number => (when === 'after' && hop >= send ? 2 : 1);
      const hops = [
        ...(await testBus.records('orders.retry-1')),
        ...(await testBus.records('orders.retry-2')),
      ];
      expect(hops.map(counters).toSorted()).toEqual(
        WITHOUT_KILL.flatMap((expected, index) => Array<string>(copies(index + 1)).fill(expected)),
      );
      const letters = (await testBus.records('orders.DLT')).map(readDeadLetter);
      expect(letters).toHaveLength(copies(HOPS.length));
      for (const letter of letters) {
        expect(letter).toMatchObject({
          value: Buffer.from('"poison"'),
          originalTopic: 'orders',
          originalOffset: 0n,
          totalAttempts: 8,
          dltCause: 'exhausted',
          lastExceptionClass: 'RangeError',
        });
        expect(letter.tierHistory.map(({ tier, attempts }) => [tier, attempts])).toEqual([
          [0, 2],
          [1, 4],
          [2, 2],
        ]);
      }
      // The interrupted delivery is repeated, and each copy causes its own later deliveries.
      const again = when === 'after' ? HOPS.length - send : 0;
      expect(first.calls).toBe(send * CALLS);
      expect(first.calls + second.calls).toBe((HOPS.length + 1 + again) * CALLS);
      for (const [group, topic] of [
        ['shop', 'orders'],
        ['shop.retry-1', 'orders.retry-1'],
        ['shop.retry-2', 'orders.retry-2'],
      ] as const)
        expect(await testBus.committed(group)).toBe((await testBus.records(topic)).length);
    },
  );
});
