import { EventHandler, type EventContext, type EventRecord } from '@nest-event-bus/core';
import { Injectable } from '@nestjs/common';

export interface OrderPlaced {
  readonly id: number;
  readonly customer: string;
}

@Injectable()
export class OrderHandlers {
  @EventHandler('orders', { type: 'OrderPlaced' })
  onPlaced({ value, partition }: EventRecord<OrderPlaced>, { log }: EventContext): void {
    log.info(`order ${value.id} of ${value.customer} is being packed (partition ${partition})`);
  }
}
