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
import { World } from '../support/application.spec-support.js';

let world: World;
let handled: Record<keyof typeof sampleBindings, unknown[]>;
let told: string[];
let failures: Map<unknown, Error[]>;

/** Those that are to fail do so as often as they have an error left. */
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
      // As a transaction of the handler would: the slice has done all or nothing.
      handled.orders = done;
      throw error;
    }
  }

  @DltAlert('orders')
  onDeadLetter({ lastExceptionClass }: DltRecord): void {
    told.push(lastExceptionClass);
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
  world = new World();
  handled = { orders: [], payments: [], notifications: [] };
  told = [];
  failures = new Map();
  const partitions = { orders: 3, payments: 2, notifications: 1 };
  for (const [name, count] of Object.entries(partitions)) {
    const { topic } = sampleBindings[name as keyof typeof sampleBindings];
    for (const suffix of ['', '.retry-1', '.retry-2', '.retry-3', '.DLT'])
      await world.topic(`${topic}${suffix}`, count);
  }
});

afterEach(() => world.end());

const start = () =>
  world.start({
    imports: [world.bus({ errorTypes, bindings: sampleBindings })],
    providers: [Shop],
  });

describe('the sample bindings, all of them in one application', () => {
  it('are read, each as it says', async () => {
    const application = await start();
    await world.write('orders.events', ...[0, 1, 2].map((n) => ({ partition: n, value: `${n}` })));
    await world.write('payments.commands', '1', '2');
    await world.write('notifications.outbox', '1');
    await world.runtime.advance(1_000);
    expect(new Set(handled.orders)).toEqual(new Set([0, 1, 2]));
    expect(handled.orders).toHaveLength(3);
    expect(handled).toMatchObject({ payments: [1, 2], notifications: [1] });
    expect(await world.members('order-service')).toHaveLength(3);
    expect(world.health(application)).toMatchObject({ status: 'UP', bindings: { length: 3 } });
  });

  it('orders: a bad message is dead-lettered and told of, an outage is tried again by tier 2', async () => {
    await start();
    failures.set('bad', [new ValidationException('no'), new ValidationException('no')]);
    const outages = Array.from({ length: 6 }, () => new ServiceUnavailableException('busy'));
    failures.set('unlucky', outages);
    await world.write('orders.events', '"good"', '"bad"', '"unlucky"', '"last"');
    await world.runtime.advance(30_000);
    expect(handled.orders).toEqual(['good', 'last']);
    expect(await world.committed('order-service')).toBe(4);
    const valuesOf = async (topic: string) =>
      (await world.records(topic)).map(({ value }) => String(value));
    expect(await valuesOf('orders.events.DLT')).toEqual(['"bad"']);
    expect(await valuesOf('orders.events.retry-2')).toEqual(['"unlucky"']);
    expect(told).toEqual([expect.stringContaining('ValidationException')]);
    outages.length = 0;
    await world.runtime.advance(60_000);
    expect(handled.orders).toEqual(['good', 'last', 'unlucky']);
  });

  it('payments: what fails is tried again in its place, and nothing passes it', async () => {
    await start();
    failures.set(1, [new TimeoutException(), new TimeoutException()]);
    await world.write('payments.commands', '1', '2');
    await world.runtime.advance(10_000);
    expect(handled.payments).toEqual([1, 2]);
    expect(await world.records('payments.commands.DLT')).toEqual([]);
  });
});
