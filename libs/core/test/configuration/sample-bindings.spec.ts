import { Injectable } from '@nestjs/common';
import {
  errorTypes,
  sampleBindings,
  ServiceUnavailableException,
  TimeoutException,
  ValidationException,
} from '../../src/config/sample-bindings.spec-support.js';
import { DltAlert } from '../../src/discovery/decorators/dlt-decorators.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { DltRecord } from '../../src/model/records/dlt-record.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { TestBus } from '../support/test-bus.spec-support.js';

let testBus: TestBus;
let handled: Record<keyof typeof sampleBindings, unknown[]>;
let alerts: string[];
let failures: Map<unknown, Error[]>;

/**
 * Throws the next error that is planned for this value. Handles the value if no error is planned
 * any more.
 */
function handle(binding: keyof typeof sampleBindings, value: unknown): void {
  const error = failures.get(value)?.shift();
  if (error) throw error;
  handled[binding].push(value);
}

@Injectable()
class Shop {
  @EventHandler.Batch('orders')
  onOrders(records: readonly EventRecord[]): void {
    const done = [...handled.orders];
    try {
      for (const { value } of records) handle('orders', value);
    } catch (error) {
      // Restores the handled values, as a rollback does: a slice is handled completely or not at
      // all.
      handled.orders = done;
      throw error;
    }
  }

  @DltAlert('orders')
  onDeadLetter({ lastExceptionClass }: DltRecord): void {
    alerts.push(lastExceptionClass);
  }

  @EventHandler('payments')
  onPayment({ value }: EventRecord): void {
    handle('payments', value);
  }

  @EventHandler('notifications')
  onNotification({ value }: EventRecord): void {
    handle('notifications', value);
  }
}

beforeEach(async () => {
  testBus = new TestBus();
  handled = { orders: [], payments: [], notifications: [] };
  alerts = [];
  failures = new Map();
  const partitions = { orders: 3, payments: 2, notifications: 1 };
  for (const [name, count] of Object.entries(partitions)) {
    const { topic } = sampleBindings[name as keyof typeof sampleBindings];
    for (const suffix of ['', '.retry-1', '.retry-2', '.retry-3', '.DLT'])
      await testBus.topic(`${topic}${suffix}`, count);
  }
});

afterEach(() => testBus.end());

const start = () =>
  testBus.start({
    imports: [testBus.module({ errorTypes, bindings: sampleBindings })],
    providers: [Shop],
  });

describe('Sample bindings in one application', () => {
  it('read their own topics after the start', async () => {
    const application = await start();
    await testBus.write(
      'orders.events',
      ...[0, 1, 2].map((n) => ({ partition: n, value: `${n}` })),
    );
    await testBus.write('payments.commands', '1', '2');
    await testBus.write('notifications.outbox', '1');
    await testBus.runtime.advance(1_000);
    expect(new Set(handled.orders)).toEqual(new Set([0, 1, 2]));
    expect(handled.orders).toHaveLength(3);
    expect(handled).toMatchObject({ payments: [1, 2], notifications: [1] });
    expect(await testBus.members('order-service')).toHaveLength(3);
    expect(testBus.health(application)).toMatchObject({ status: 'UP', bindings: { length: 3 } });
  });

  it('orders: a bad message is dead-lettered and alerted of; tier 2 retries after an outage', async () => {
    await start();
    failures.set('bad', [new ValidationException('no'), new ValidationException('no')]);
    const outages = Array.from({ length: 6 }, () => new ServiceUnavailableException('busy'));
    failures.set('unlucky', outages);
    await testBus.write('orders.events', '"good"', '"bad"', '"unlucky"', '"last"');
    await testBus.runtime.advance(30_000);
    expect(handled.orders).toEqual(['good', 'last']);
    expect(await testBus.committed('order-service')).toBe(4);
    const valuesOf = async (topic: string) =>
      (await testBus.records(topic)).map(({ value }) => String(value));
    expect(await valuesOf('orders.events.DLT')).toEqual(['"bad"']);
    expect(await valuesOf('orders.events.retry-2')).toEqual(['"unlucky"']);
    expect(alerts).toEqual([expect.stringContaining('ValidationException')]);
    outages.length = 0;
    await testBus.runtime.advance(60_000);
    expect(handled.orders).toEqual(['good', 'last', 'unlucky']);
  });

  it('payments: a failed record is retried in place, and no record overtakes it', async () => {
    await start();
    failures.set(1, [new TimeoutException(), new TimeoutException()]);
    await testBus.write('payments.commands', '1', '2');
    await testBus.runtime.advance(10_000);
    expect(handled.payments).toEqual([1, 2]);
    expect(await testBus.records('payments.commands.DLT')).toEqual([]);
  });
});
