import { EventPublisher } from '@nest-event-bus/core';
import { Body, Controller, Post } from '@nestjs/common';
import type { OrderPlaced } from './order-handlers.js';

@Controller('orders')
export class OrdersController {
  constructor(private readonly publisher: EventPublisher) {}

  @Post()
  async place(@Body() order: OrderPlaced): Promise<{ readonly offset: string }> {
    const { offset } = await this.publisher.publish('orders', order, {
      key: order.customer,
      type: 'OrderPlaced',
    });
    return { offset: offset.toString() };
  }
}
