import { randomUUID } from 'node:crypto';
import { EventEnvelope, OutboxWriter, withConnection } from '@nest-event-bus/outbox';
import { OutboxTransactions } from '@nest-event-bus/outbox-nest';
import { BadRequestException, Injectable, NotFoundException } from '@nestjs/common';
import { database, sql } from './database.js';

export interface Order {
  readonly id: string;
  readonly article: string;
  readonly state: string;
}

/** Changes orders. Each change and its event are in one transaction. */
@Injectable()
export class Orders {
  constructor(
    private readonly transactions: OutboxTransactions,
    private readonly outbox: OutboxWriter,
  ) {}

  place(article: unknown): Promise<Order> {
    return this.transactions.transaction(database.pool, async (connection) => {
      const order = {
        id: randomUUID(),
        article: typeof article === 'string' ? article : '',
        state: 'placed',
      };
      await sql.update(
        connection,
        'INSERT INTO shop_orders (id, article, state) VALUES (:id, :article, :state)',
        order,
      );
      await this.outbox.write(eventOf('PLACED', order));
      // Comes last, to show that neither the order nor its event is stored.
      if (order.article === '') throw new BadRequestException('Name the article of the order.');
      return order;
    });
  }

  cancel(id: string): Promise<Order> {
    return this.transactions.transaction(database.pool, async (connection) => {
      const changed = await sql.update(
        connection,
        "UPDATE shop_orders SET state = 'cancelled' WHERE id = :id AND state = 'placed'",
        { id },
      );
      if (changed === 0) throw new NotFoundException(`No order ${id} can be cancelled.`);
      const order = { id, article: '', state: 'cancelled' };
      await this.outbox.write(eventOf('CANCELLED', order));
      return order;
    });
  }

  all(): Promise<readonly unknown[]> {
    return withConnection(database.provider, (connection) =>
      sql.query(connection, 'SELECT id, article, state FROM shop_orders ORDER BY id'),
    );
  }
}

const eventOf = (type: string, order: Order): EventEnvelope =>
  EventEnvelope.builder(type)
    .aggregateType('ORDER')
    .aggregateId(order.id)
    .payloadJson(JSON.stringify(order))
    .build();
