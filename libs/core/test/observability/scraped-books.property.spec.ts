import { sleep } from '@nest-event-bus/broker/runtime';
import { Injectable } from '@nestjs/common';
import fc from 'fast-check';
import { Registry } from 'prom-client';
import { LifecycleManager } from '../../src/containers/lifecycle/lifecycle-manager.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { EventContext } from '../../src/model/records/event-context.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { EventBusMetricsModule } from '../../src/prometheus/index.js';
import {
  parseScrape,
  scraped,
  type ScrapedSample,
} from '../support/prometheus-text.spec-support.js';
import { TestBus } from '../support/test-bus.spec-support.js';

type Fate = 'ok' | 'later' | 'never' | 'back' | 'letter' | 'unreadable';

let testBus: TestBus;

@Injectable()
class Orders {
  readonly #seen = new Set<string>();

  @EventHandler('orders')
  async onOrder({ value, key }: EventRecord<Fate>, context: EventContext): Promise<void> {
    await sleep(testBus.runtime, 30);
    if (value === 'never' || (value === 'later' && context.attempt.tier === 0))
      throw new Error('no');
    if (value === 'letter') context.deadLetter('no');
    if (value !== 'back' || this.#seen.has(String(key))) return;
    this.#seen.add(String(key));
    context.handBack({ delayMs: 50 });
  }
}

const fates = fc.constantFrom<Fate>('ok', 'ok', 'later', 'never', 'back', 'letter', 'unreadable');
const steps = fc.oneof(
  { weight: 4, arbitrary: fc.array(fates, { minLength: 1, maxLength: 8 }) },
  { weight: 2, arbitrary: fc.integer({ min: 10, max: 3_000 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('pause' as const, 'resume' as const, 'restart' as const),
  },
);

/** Every received record has an outcome or is in flight, in each scrape. */
function expectBalanced(samples: readonly ScrapedSample[]): void {
  for (const tier of ['0', '1']) {
    const of = (name: string, labels = {}) =>
      scraped(samples, `eventbus_${name}`, { tier, ...labels });
    const ended = of('records_processed_total') + of('records_returned_total');
    expect(ended + of('records_in_flight')).toBe(of('records_received_total'));
    const durations = of('processing_duration_seconds_count');
    expect(durations).toBeLessThanOrEqual(ended);
    const done = ['succeeded', 'discarded', 'dead-lettered'].map((outcome) =>
      of('records_processed_total', { outcome }),
    );
    expect(of('end_to_end_duration_seconds_count')).toBe(done.reduce((sum, each) => sum + each));
    for (const name of ['processing_duration_seconds', 'end_to_end_duration_seconds'])
      expect(of(`${name}_bucket`, { le: '+Inf' })).toBe(of(`${name}_count`));
  }
}

describe('The books of the bus, as they are scraped', () => {
  it('balance at any moment of a random life', async () => {
    let checks = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { minLength: 5, maxLength: 25 }), async (life) => {
        testBus = new TestBus();
        const registry = new Registry();
        const scrape = async () => {
          const samples = parseScrape(await registry.metrics());
          expectBalanced(samples);
          checks++;
          return samples;
        };
        try {
          for (const topic of ['orders', 'orders.retry-1', 'orders.DLT'])
            await testBus.topic(topic);
          const retry = {
            tier0: { maxAttempts: 2, initialBackoffMs: 20 },
            tiers: [{ delayMs: 500, maxAttempts: 1 }],
          };
          const bindings = { orders: { topic: 'orders', groupId: 'shop', retry } };
          const application = await testBus.start({
            imports: [testBus.module({ bindings }), EventBusMetricsModule.forRoot({ registry })],
            providers: [Orders],
          });
          const lifecycle = application.get(LifecycleManager);
          let written = 0;
          for (const step of life) {
            if (typeof step === 'number') await testBus.runtime.advance(step);
            else if (step === 'pause')
              await testBus.done(lifecycle.pause('orders')).catch(() => undefined);
            else if (step === 'resume')
              await testBus.done(lifecycle.resume('orders')).catch(() => undefined);
            else if (step === 'restart') {
              await testBus.done(lifecycle.stop('orders'));
              await testBus.done(lifecycle.start('orders'));
            } else {
              const records = step.map((fate) => ({
                key: String(written++),
                value: fate === 'unreadable' ? '{' : JSON.stringify(fate),
              }));
              await testBus.write('orders', ...records);
            }
            await scrape();
          }
          await testBus.done(lifecycle.resume('orders').catch(() => undefined));
          await testBus.runtime.advance(120_000);
          const end = await scrape();
          const done = ['succeeded', 'dead-lettered'].map((outcome) =>
            scraped(end, 'eventbus_records_processed_total', { outcome }),
          );
          expect(done[0]! + done[1]!).toBe(written);
          expect(scraped(end, 'eventbus_retry_count_count')).toBe(written);
          expect(scraped(end, 'eventbus_records_dlq_total')).toBe(
            (await testBus.records('orders.DLT')).length,
          );
        } finally {
          await testBus.end();
        }
      }),
      { numRuns: 8 },
    );
    expect(checks).toBeGreaterThan(40);
  }, 300_000);
});
