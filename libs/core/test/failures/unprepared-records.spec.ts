import { Injectable } from '@nestjs/common';
import { registerDecorator } from 'class-validator';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { World } from '../support/application.spec-support.js';

let world: World;
let asked: number;
let handled: number;

/** A database whose connection is reset once. */
function customerExists(): boolean {
  asked += 1;
  if (asked === 1) throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
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
  world = new World();
  asked = 0;
  handled = 0;
  for (const topic of ['orders', 'orders.DLT', 'orders-dlq']) await world.topic(topic);
});

afterEach(() => world.end());

describe.each([
  ['the validation of its payload', Validated],
  ['its filter', Filtered],
  ['the validation of its slice', ValidatedBatches],
] as const)('a good record is handled although a connection is reset in %s', (_, provider) => {
  it.each([
    ['without retry topics', { retry: { tiers: [] } }],
    ['where the order is strict', { orderingMode: 'STRICT' }],
    ["with preset 'strategy-financial'", { preset: 'strategy-financial' }],
    ["with preset 'brokers'", { preset: 'brokers' }],
  ] as const)('%s', async (__, properties) => {
    await world.startOrders([provider], properties);
    await world.write('orders', '{"customer":"anna"}');
    await world.runtime.advance(60_000);
    expect(handled).toBe(1);
    expect(await world.records('orders.DLT')).toEqual([]);
    expect(await world.records('orders-dlq')).toEqual([]);
    expect(await world.committed()).toBe(1);
  });
});
