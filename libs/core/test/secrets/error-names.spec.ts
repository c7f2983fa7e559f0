import { Injectable } from '@nestjs/common';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { EventBusMetrics } from '../../src/observability/event-bus-metrics.js';
import { TestBus } from '../support/test-bus.spec-support.js';

const FORGED = 'Forged\r\n[Nest] 1 ERROR\u001b[2J\u2028\u0085line';

/** A handler that takes the name of its error from the payload. */
@Injectable()
class Orders {
  @EventHandler('orders')
  onOrder({ value }: EventRecord<{ readonly name: string }>): never {
    throw Object.assign(new RangeError('no'), { name: value.name });
  }
}

let testBus: TestBus;

beforeEach(async () => {
  testBus = new TestBus();
  for (const topic of ['orders', 'orders.DLT']) await testBus.topic(topic);
});
afterEach(() => testBus.end());

async function failWith(names: readonly string[]) {
  const application = await testBus.startOrders([Orders], {
    retry: { tier0: { maxAttempts: 1 }, tiers: [] },
  });
  await testBus.write('orders', ...names.map((name) => JSON.stringify({ name })));
  await testBus.runtime.advance(5_000);
  expect(await testBus.records('orders.DLT')).toHaveLength(names.length);
  return application.get(EventBusMetrics).collect();
}

describe('The name of an error that comes from a payload', () => {
  it('never makes more than 51 values of a metric label', async () => {
    const families = await failWith(Array.from({ length: 200 }, (_, index) => `Name${index}`));
    const labels = families.flatMap(({ samples }) =>
      samples.map(({ labels: { exception } }) => exception),
    );
    const values = new Set(labels.filter((label) => label !== undefined));
    expect(values.size).toBe(51);
    expect(values).toContain('other');
  });

  it('is replaced by the class in labels, headers and the log if it is no identifier', async () => {
    const families = await failWith([FORGED, 'n'.repeat(10_000), 'a name', '{"json":1}']);
    const labels = families.flatMap(({ samples }) => samples.map((sample) => sample.labels));
    const names = labels.flatMap(({ exception }) => exception ?? []);
    expect(new Set(names)).toEqual(new Set(['RangeError']));
    const letters = await testBus.records('orders.DLT');
    const classes = letters.map(({ headers }) =>
      headers.find(({ key }) => key === 'x-eventbus-last-exception-class')?.value?.toString(),
    );
    expect(new Set(classes)).toEqual(new Set(['RangeError']));
    expect(testBus.log.everything.join()).toContain('RangeError');
  });

  it('brings no control character into the log', async () => {
    await failWith([FORGED]);
    // The frames of a stack are lines of their own, and are indented.
    const lines = testBus.log.everything
      .filter((line) => line.endsWith(' EventBus'))
      .map((line) => line.replaceAll(/\n {4}/g, ''));
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.filter((line) => /[\p{Cc}\u2028\u2029]/u.test(line))).toEqual([]);
  });
});
