import { PoolConnectionProvider } from '@nest-event-bus/outbox-sql';
import { createPool } from 'mysql2/promise';
import { Pool } from 'pg';
import type { OpenedDatabase } from '../../../../libs/outbox-sql/src/stores/contract-database.spec-support.js';

export type PostgresDatabase = OpenedDatabase & { readonly pool: Pool };

export function openPostgres(url: string, max = 8): PostgresDatabase {
  const pool = new Pool({ connectionString: url, max });
  return {
    dialect: 'postgres',
    pool,
    provider: new PoolConnectionProvider(pool),
    begin: async () => {
      const client = await pool.connect();
      await client.query('BEGIN');
      const end = async (statement: string): Promise<void> => {
        await client.query(statement);
        client.release();
      };
      return { connection: client, commit: () => end('COMMIT'), rollback: () => end('ROLLBACK') };
    },
    close: () => pool.end(),
  };
}

export function openMysql(url: string, connectionLimit = 8): OpenedDatabase {
  const { pathname } = new URL(url);
  const uri = pathname.length > 1 ? url : `${url}/test`;
  const pool = createPool({ uri, connectionLimit });
  return {
    dialect: 'mysql',
    provider: new PoolConnectionProvider(pool),
    begin: async () => {
      const connection = await pool.getConnection();
      await connection.beginTransaction();
      const end = async (work: Promise<void>): Promise<void> => {
        await work;
        connection.release();
      };
      return {
        connection,
        commit: () => end(connection.commit()),
        rollback: () => end(connection.rollback()),
      };
    },
    close: () => pool.end(),
  };
}
