import { join } from 'node:path';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { SqlInboxSchema, SqlOutboxSchema } from '@nest-event-bus/outbox-sql';
import { eventually } from '@nest-event-bus/testing';
import { Pool } from 'pg';
import { uniqueTable } from '../../../libs/outbox-sql/src/stores/contract-database.spec-support.js';
import { Child } from '../core/support/children/child-process.js';
import { describeWithKafka, describeWithService } from '../support/index.js';

const ORDERS = 30;
const LIMIT = { timeoutMs: 180_000 };

describeWithService('PostgreSQL', 'Inbox of a process that is killed', (url) => {
  describeWithKafka('after its database and before its offset is committed', (kafka) => {
    it('handles each message once, with one event in the outbox', async () => {
      const driver = kafkajs({ brokers: kafka.brokers });
      const pool = new Pool({ connectionString: url });
      const table = uniqueTable();
      const children: Child[] = [];
      const settings = {
        brokers: kafka.brokers,
        topic: kafka.unique('orders'),
        groupId: kafka.unique('shop'),
        databaseUrl: url,
        table,
      };
      const start = (killAfter?: number): Child => {
        const args = [JSON.stringify({ ...settings, killAfter })];
        const child = new Child(join(__dirname, 'children/inbox-orders.ts'), { args });
        children.push(child);
        return child;
      };
      try {
        const client = await pool.connect();
        await new SqlOutboxSchema('postgres', { tableName: table }).migrate(client);
        await new SqlInboxSchema('postgres', `${table}_inbox`).migrate(client);
        await client.query(`CREATE TABLE ${table}_data (id text)`);
        client.release();
        await driver.admin().createTopics([{ name: settings.topic, partitions: 1 }]);
        await driver.producer().send(
          Array.from({ length: ORDERS }, (_, index) => ({
            topic: settings.topic,
            partition: 0,
            value: String(index),
          })),
        );
        const killed = start(10);
        await killed.ended;
        const successor = start();
        await eventually(() => successor.stdout.includes(`handled ${ORDERS - 1}\n`), LIMIT);

        // The successor got records again whose work was committed.
        expect(successor.stdout).toContain('duplicate 9\n');
        const { rows } = await pool.query<{ id: string }>(`SELECT id FROM ${table}_data`);
        const ids = rows.map(({ id }) => Number(id)).sort((a, b) => a - b);
        expect(ids).toEqual(Array.from({ length: ORDERS }, (_, index) => index));
        const events = await pool.query<{ count: string }>(`SELECT count(*) FROM ${table}`);
        expect(Number(events.rows[0]?.count)).toBe(ORDERS);
      } finally {
        for (const child of children) child.kill();
        await Promise.all(children.map(({ ended }) => ended));
        for (const suffix of ['', '_lock', '_schema', '_inbox', '_data'])
          await pool.query(`DROP TABLE IF EXISTS ${table}${suffix}`);
        await pool.end();
        await driver.close();
      }
    }, 400_000);
  });
});
