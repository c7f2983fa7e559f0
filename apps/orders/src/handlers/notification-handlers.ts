import { EventHandler, type EventContext, type EventRecord } from '@nest-event-bus/core';
import { Injectable } from '@nestjs/common';
import { Catalogue } from '../faults/catalogue.js';
import { Dependencies } from '../faults/dependencies.js';
import { ShopEvent } from '../shop-event.js';
import { Books } from '../traffic/books.js';

@Injectable()
export class NotificationHandlers {
  constructor(
    private readonly dependencies: Dependencies,
    private readonly catalogue: Catalogue,
    private readonly books: Books,
  ) {}

  @EventHandler('notifications', { payload: ShopEvent })
  async onNotification({ value }: EventRecord<ShopEvent>, { signal }: EventContext): Promise<void> {
    this.catalogue.require(value.article);
    await this.dependencies.mail.call(signal);
    this.books.handle('notifications', value.id);
  }
}
