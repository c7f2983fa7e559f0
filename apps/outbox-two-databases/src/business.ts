import { EventEnvelope } from '@nest-event-bus/outbox';
import type { Ledger } from './ledger.js';

/**
 * Orders and invoices, each in a database of its own. No transaction covers both: an order and its
 * event are one transaction, an invoice and its event are another one.
 */
export class Business {
  constructor(
    private readonly orders: Ledger,
    private readonly invoices: Ledger,
  ) {
    orders.on('PLACED', ({ aggregateId }) => this.#invoice(aggregateId ?? ''));
    invoices.on('CREATED', ({ aggregateId }) => this.#confirm(aggregateId ?? ''));
  }

  place(id: string): Promise<void> {
    return this.orders.inTransaction(async (connection) => {
      await this.orders.set(connection, id, 'placed');
      await this.orders.outbox.writer.write(eventOf(this.orders, 'PLACED', id));
    });
  }

  /** Uses the writer of the wrong database: it is refused, and nothing is stored. */
  placeWithWrongWriter(id: string): Promise<void> {
    return this.orders.inTransaction(async (connection) => {
      await this.orders.set(connection, id, 'placed');
      await this.invoices.outbox.writer.write(eventOf(this.orders, 'PLACED', id));
    });
  }

  /** A second delivery changes no row, so it writes no event. */
  #invoice(id: string): Promise<void> {
    return this.invoices.inTransaction(async (connection) => {
      if (await this.invoices.set(connection, id, 'open'))
        await this.invoices.outbox.writer.write(eventOf(this.invoices, 'CREATED', id));
    });
  }

  async #confirm(id: string): Promise<void> {
    await this.orders.inTransaction((connection) => this.orders.set(connection, id, 'invoiced'));
  }
}

const eventOf = ({ name }: Ledger, type: string, id: string): EventEnvelope =>
  EventEnvelope.builder(type)
    .aggregateType(name)
    .aggregateId(id)
    .payloadJson(JSON.stringify({ id }))
    .build();
