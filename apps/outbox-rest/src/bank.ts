import type { EventEnvelope } from '@nest-event-bus/outbox';
import { OutboxListener } from '@nest-event-bus/outbox-nest';
import { Injectable } from '@nestjs/common';

/** A service that the outbox calls directly. While it is closed, its events become DEAD. */
@Injectable()
export class Bank {
  isOpen = true;
  readonly refunds: string[] = [];

  @OutboxListener({ aggregate: 'ORDER', event: 'CANCELLED' })
  onCancelled({ aggregateId }: EventEnvelope): void {
    if (!this.isOpen) throw new Error('The bank is closed.');
    this.refunds.push(aggregateId ?? '');
  }
}
