import { Injectable } from '@nestjs/common';
import { registerDecorator } from 'class-validator';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { TestBus } from '../support/test-bus.spec-support.js';

let testBus: TestBus;
let checks: number;
let handled: number;

/** Simulates a query to a database whose connection is reset at the first query. */
function customerExists(): boolean {
  checks += 1;
  if (checks === 1) throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
  return true;
}

const IsCustomer = (): PropertyDecorator => (target, propertyName) =>
  registerDecorator({
    target: target.constructor,
    propertyName: String(propertyName),
    async: true,
    validator: { validate: async () => customerExists() },
  });

class Payment {
  @IsCustomer() customer!: string;
}

@Injectable()
class Validated {
  @EventHandler('orders', { payload: Payment })
  handle(): void {
    handled += 1;
  }
}

@Injectable()
class Filtered {
  @EventHandler('orders', { filter: customerExists })
  handle(): void {
    handled += 1;
  }
}

@Injectable()
class ValidatedBatches {
  @EventHandler.Batch('orders', { payload: Payment })
  handle(): void {
    handled += 1;
  }
}

beforeEach(async () => {
  testBus = new TestBus();
  checks = 0;
  handled = 0;
  for (const topic of ['orders', 'orders.DLT', 'orders-dlq']) await testBus.topic(topic);
});

afterEach(() => testBus.end());

describe.each([
  ['the validation of its payload', Validated],
  ['its filter', Filtered],
  ['the validation of its slice', ValidatedBatches],
] as const)('A record is handled although a connection was reset in %s', (_, provider) => {
  it.each([
    ['retries without retry topics', { retry: { tiers: [] } }],
    ['retries with strict ordering', { orderingMode: 'STRICT' }],
    ["retries with preset 'strategy-financial'", { preset: 'strategy-financial' }],
    ["retries with preset 'brokers'", { preset: 'brokers' }],
  ] as const)('%s', async (__, properties) => {
    await testBus.startOrders([provider], properties);
    await testBus.write('orders', '{"customer":"anna"}');
    await testBus.runtime.advance(60_000);
    expect(handled).toBe(1);
    expect(await testBus.records('orders.DLT')).toEqual([]);
    expect(await testBus.records('orders-dlq')).toEqual([]);
    expect(await testBus.committed()).toBe(1);
  });
});

it('A record of a batch handler is handled after such a reset with DLQ_AND_CONTINUE, too', async () => {
  const properties = { batchFailureStrategy: 'DLQ_AND_CONTINUE', retry: { tiers: [] } } as const;
  await testBus.startOrders([ValidatedBatches], properties);
  await testBus.write('orders', '{"customer":"anna"}');
  await testBus.runtime.advance(60_000);
  expect(handled).toBe(1);
  expect(await testBus.records('orders.DLT')).toEqual([]);
  expect(await testBus.committed()).toBe(1);
});
