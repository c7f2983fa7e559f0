import { UseGuards, type CanActivate } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { IsInt } from 'class-validator';
import { EventHandler } from '../discovery/decorators/event-handler.js';
import { HandlerExplorer } from '../discovery/exploring/handler-explorer.js';
import { Payload } from '../discovery/decorators/parameters.js';
import { deliveryOf, errorOf, processorOf } from './pipeline.spec-support.js';

class Order {
  @IsInt()
  id!: number;
}

class Refusing implements CanActivate {
  canActivate(): boolean {
    return false;
  }
}

class OrderHandlers {
  readonly orders: Order[] = [];

  @EventHandler('orders', { type: 'OrderPlaced', payload: Order })
  onPlaced(@Payload() order: Order): void {
    this.orders.push(order);
  }

  @EventHandler('orders', { type: 'OrderPaid' })
  @UseGuards(Refusing)
  onPaid(): void {}
}

async function application() {
  const app = await Test.createTestingModule({
    imports: [DiscoveryModule],
    providers: [HandlerExplorer, OrderHandlers],
  }).compile();
  const { handlers } = app.get(HandlerExplorer).explore();
  return { processor: processorOf(handlers), host: app.get(OrderHandlers) };
}

describe('Decorated handlers in the pipeline', () => {
  it('get the records of their type as instances of their payload class', async () => {
    const { processor, host } = await application();
    const delivery = deliveryOf({ type: 'OrderPlacedEvent', value: { id: 7 } });
    expect(await processor.process(delivery)).toEqual({ kind: 'succeeded' });
    expect(host.orders).toEqual([Object.assign(new Order(), { id: 7 })]);
    expect(host.orders[0]).toBeInstanceOf(Order);
  });

  it('fail a record that a guard refuses with a code of its own', async () => {
    const { processor } = await application();
    const outcome = await processor.process(deliveryOf({ type: 'OrderPaid' }));
    expect(errorOf(outcome)).toMatchObject({ code: 'HANDLER_REFUSED', retriable: true });
  });
});
