import { EventPublisher } from '@nest-event-bus/core';
import { Injectable } from '@nestjs/common';
import { DEMO_BINDINGS, type DemoBinding } from '../bindings.js';
import { UNKNOWN_ARTICLE } from '../faults/catalogue.js';
import type { ShopEvent } from '../shop-event.js';
import { Books } from './books.js';

const CUSTOMERS = ['Anna', 'Ben', 'Chris', 'Dora', 'Emil', 'Fatma', 'Gus', 'Hana'];
const ARTICLES = ['lamp', 'chair', 'table', 'shelf', 'sofa'];

/** Records of `poison`: an article that is missing in the catalogue, or bytes that are no JSON. */
export type PoisonKind = 'unknown-article' | 'unreadable';

/** Publishes what the shop does, and enters it in the books. */
@Injectable()
export class Shop {
  /** Begins the ids of this run, because a Kafka may hold events of an earlier one. */
  readonly #run = Date.now().toString(36);
  #count = 0;

  constructor(
    private readonly publisher: EventPublisher,
    private readonly books: Books,
  ) {}

  /** Places an order: one event for each binding. */
  async order(wish: Partial<Omit<ShopEvent, 'id'>> = {}): Promise<ShopEvent> {
    const event = this.#event(wish);
    await Promise.all(DEMO_BINDINGS.map((binding) => this.#publish(binding, event)));
    return event;
  }

  async poison(binding: DemoBinding, kind: PoisonKind, count: number): Promise<void> {
    for (let sent = 0; sent < count; sent += 1) {
      if (kind === 'unknown-article')
        await this.#publish(binding, this.#event({ article: UNKNOWN_ARTICLE }));
      else await this.publisher.publish(binding, Buffer.from('{"id":'), { key: 'nobody' });
    }
  }

  async #publish(binding: DemoBinding, event: ShopEvent): Promise<void> {
    this.books.produce(binding, event.id);
    await this.publisher.publish(binding, event, { key: event.customer });
  }

  #event(wish: Partial<Omit<ShopEvent, 'id'>>): ShopEvent {
    const number = (this.#count += 1);
    return {
      id: `${this.#run}-${number}`,
      customer: wish.customer ?? CUSTOMERS[number % CUSTOMERS.length]!,
      article: wish.article ?? ARTICLES[(number * 3) % ARTICLES.length]!,
      quantity: wish.quantity ?? 1 + (number % 4),
    };
  }
}
