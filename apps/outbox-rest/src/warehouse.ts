import { EventHandler, type EventRecord } from '@nest-event-bus/core';
import { Injectable } from '@nestjs/common';
import type { Order } from './orders.js';

/** Another service, which reads the topic of orders. */
@Injectable()
export class Warehouse {
  readonly parcels: string[] = [];

  @EventHandler('orders')
  onPlaced({ value }: EventRecord<Order>): void {
    this.parcels.push(value.id);
  }
}
