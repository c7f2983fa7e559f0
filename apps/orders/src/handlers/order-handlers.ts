import {
  ConsumerResult,
  DltAlert,
  EventHandler,
  type DltRecord,
  type EventContext,
  type EventRecord,
} from '@nest-event-bus/core';
import { Injectable, Logger } from '@nestjs/common';
import { Catalogue } from '../faults/catalogue.js';
import { Dependencies } from '../faults/dependencies.js';
import { ShopEvent } from '../shop-event.js';
import { Books } from '../traffic/books.js';

/** Packs orders: one call of the warehouse for all orders of a slice. */
@Injectable()
export class OrderHandlers {
  readonly #log = new Logger('orders');

  constructor(
    private readonly dependencies: Dependencies,
    private readonly catalogue: Catalogue,
    private readonly books: Books,
  ) {}

  @EventHandler.Batch('orders', { payload: ShopEvent })
  async onOrders(
    records: readonly EventRecord<ShopEvent>[],
    contexts: readonly EventContext[],
  ): Promise<ConsumerResult[]> {
    await this.dependencies.warehouse.call(contexts[0]!.signal);
    return records.map(({ value }) => {
      if (!this.catalogue.lists(value.article)) return ConsumerResult.error('unknown article');
      this.books.handle('orders', value.id);
      return ConsumerResult.success();
    });
  }

  @DltAlert('orders')
  onDeadLetter({ originalTopic, originalOffset, dltReason, lastExceptionClass }: DltRecord): void {
    this.#log.error(
      `ALERT: ${originalTopic}@${originalOffset} is a dead letter: ${dltReason}, ${lastExceptionClass}`,
    );
  }
}
