import { Injectable } from '@nestjs/common';
import { DEMO_BINDINGS, type DemoBinding } from '../bindings.js';

/** Counts of one binding, in this process. */
export interface BookEntry {
  readonly produced: number;
  /** Produced events that a handler has finished, each counted once. */
  readonly handled: number;
  /** Calls for events that were finished before. */
  readonly repeated: number;
  /** Produced and not handled: on their way, or dead letters. */
  readonly open: number;
}

class BindingBook {
  readonly produced = new Set<string>();
  readonly handled = new Set<string>();
  repeated = 0;
}

/** Remembers which events were produced and which were handled, so that a visitor sees that both agree. */
@Injectable()
export class Books {
  readonly #books = new Map(DEMO_BINDINGS.map((binding) => [binding, new BindingBook()]));

  produce(binding: DemoBinding, id: string): void {
    this.#of(binding).produced.add(id);
  }

  /** Events of earlier runs, which a Kafka may still hold, are not counted. */
  handle(binding: DemoBinding, id: string): void {
    const book = this.#of(binding);
    if (book.handled.has(id)) book.repeated += 1;
    else if (book.produced.has(id)) book.handled.add(id);
  }

  entries(): Readonly<Record<DemoBinding, BookEntry>> {
    const entryOf = (binding: DemoBinding): BookEntry => {
      const { produced, handled, repeated } = this.#of(binding);
      return {
        produced: produced.size,
        handled: handled.size,
        repeated,
        open: produced.size - handled.size,
      };
    };
    return {
      orders: entryOf('orders'),
      payments: entryOf('payments'),
      notifications: entryOf('notifications'),
    };
  }

  #of(binding: DemoBinding): BindingBook {
    return this.#books.get(binding)!;
  }
}
