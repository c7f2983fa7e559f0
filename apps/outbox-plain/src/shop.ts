import { EventEnvelope, type OutboxWriter } from '@nest-event-bus/outbox';
import { type SqlTransactionManager, SqlTemplate } from '@nest-event-bus/outbox-sql';
import { crashAt } from './settings.js';

const orders = new SqlTemplate('sqlite', 'orders');

/** Places orders. The row of an order and its event are in one transaction. */
export class Shop {
  constructor(
    private readonly transactions: SqlTransactionManager,
    private readonly outbox: OutboxWriter,
  ) {}

  async place(customer: string): Promise<void> {
    await this.transactions.inTransaction(async (connection) => {
      this.transactions.context.afterCommit(() => crashAt('before-dispatch'));
      const [row] = await orders.updateReturning(
        connection,
        'INSERT INTO orders (customer) VALUES (:customer) RETURNING id',
        { customer },
      );
      const id = Number(row?.['id']);
      await this.outbox.write(
        EventEnvelope.builder('PLACED')
          .aggregateType('ORDER')
          .aggregateId(String(id))
          .payloadJson(JSON.stringify({ id, customer }))
          .build(),
      );
      if (customer === 'nobody') throw new Error('Nobody cannot place an order.');
      crashAt('before-commit');
    });
  }
}
