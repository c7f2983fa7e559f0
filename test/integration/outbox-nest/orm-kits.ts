import { MikroORM } from '@mikro-orm/postgresql';
import { EntitySchema } from '@mikro-orm/core';
import { drizzle as drizzleSqlite } from 'drizzle-orm/better-sqlite3';
import { drizzle } from 'drizzle-orm/node-postgres';
import { sql as drizzleSql } from 'drizzle-orm';
import createKnex, { type Knex } from 'knex';
import { Kysely, PostgresDialect, sql as kyselySql, SqliteDialect, type Transaction } from 'kysely';
import { Pool } from 'pg';
import { DataSource, type EntityManager } from 'typeorm';
import { newPrismaClient, type PrismaClient } from './prisma-client.js';

interface SqliteDatabase {
  exec(statement: string): unknown;
  prepare(statement: string): {
    all(...values: unknown[]): readonly unknown[];
    run(...values: unknown[]): { readonly changes: number };
  };
  close(): void;
}

const Database = require('better-sqlite3') as new (file: string) => SqliteDatabase;

/** One ORM or driver on one database: the handle for the outbox, and plain SQL in a transaction. */
export interface OrmKit {
  readonly database: object;
  run(tx: object, statement: string): Promise<unknown>;
  close(): Promise<void>;
  /** Begins a transaction without the outbox. Left out if the plain handle cannot tell. */
  readonly begin?: <T>(work: (tx: object) => Promise<T>) => Promise<T>;
  /** The ORM tells the end of a transaction that it has begun itself. */
  readonly tellsCommit?: true;
  /** The driver of the ORM mixes transactions that are open at the same time. */
  readonly oneAtATime?: true;
  /** After a failed COMMIT, the ORM leaves its transaction open. */
  readonly leavesFailedCommitOpen?: true;
}

type Open = (url: string) => OrmKit | Promise<OrmKit>;

const knexKit = (knex: Knex): OrmKit => ({
  database: knex,
  run: async (tx, statement) => (tx as Knex).raw(statement),
  close: () => knex.destroy(),
  begin: (work) => knex.transaction(work),
  tellsCommit: true,
});

type AnyKysely = Kysely<Record<string, never>>;

const kyselyKit = (kysely: AnyKysely): OrmKit => ({
  database: kysely,
  run: (tx, statement) =>
    kyselySql.raw(statement).execute(tx as Transaction<Record<string, never>>),
  close: () => kysely.destroy(),
  begin: (work) => kysely.transaction().execute(work),
});

const typeormKit = (source: DataSource): OrmKit => ({
  database: source,
  run: (tx, statement) => (tx as EntityManager).query(statement),
  close: () => source.destroy(),
  begin: (work) => source.transaction(work),
  tellsCommit: true,
});

export const postgresKits: Readonly<Record<string, Open>> = {
  pg: (url) => {
    const pool = new Pool({ connectionString: url });
    return {
      database: pool,
      run: (tx, statement) => (tx as Pool).query(statement),
      close: () => pool.end(),
    };
  },
  Knex: (url) => knexKit(createKnex({ client: 'pg', connection: url })),
  Kysely: (url) =>
    kyselyKit(
      new Kysely({ dialect: new PostgresDialect({ pool: new Pool({ connectionString: url }) }) }),
    ),
  Drizzle: (url) => {
    const pool = new Pool({ connectionString: url });
    const database = drizzle(pool);
    return {
      database,
      run: (tx, statement) => (tx as typeof database).execute(drizzleSql.raw(statement)),
      close: () => pool.end(),
      begin: (work) => database.transaction(work),
    };
  },
  TypeORM: async (url) => typeormKit(await new DataSource({ type: 'postgres', url }).initialize()),
  Prisma: (url) => {
    const client = newPrismaClient(url);
    return {
      database: client,
      run: (tx, statement) => (tx as PrismaClient).$executeRawUnsafe(statement),
      close: () => client.$disconnect(),
      begin: (work) => client.$transaction(work),
    };
  },
  MikroORM: async (url) => {
    const Nothing = new EntitySchema<{ id: number }>({
      name: 'Nothing',
      properties: { id: { type: 'number', primary: true } },
    });
    const orm = await MikroORM.init({ clientUrl: url, entities: [Nothing] });
    return {
      database: orm.em,
      run: (tx, statement) => {
        const em = tx as typeof orm.em;
        return em.getConnection().execute(statement, [], 'all', em.getTransactionContext());
      },
      close: () => orm.close(true),
      begin: (work) => orm.em.fork().transactional(work),
      tellsCommit: true,
    };
  },
};

export const sqliteKits: Readonly<Record<string, Open>> = {
  'better-sqlite3': (file) => {
    const database = new Database(file);
    return {
      database,
      run: async (_, statement) => database.exec(statement),
      close: async () => database.close(),
    };
  },
  Knex: (file) => ({
    ...knexKit(
      createKnex({
        client: 'better-sqlite3',
        connection: { filename: file },
        useNullAsDefault: true,
      }),
    ),
    leavesFailedCommitOpen: true,
  }),
  Kysely: (file) =>
    kyselyKit(
      new Kysely({ dialect: new SqliteDialect({ database: new Database(file) as never }) }),
    ),
  Drizzle: (file) => {
    const database = new Database(file);
    return {
      database: drizzleSqlite(database as never),
      run: async (_, statement) => database.exec(statement),
      close: async () => database.close(),
    };
  },
  TypeORM: async (file) => ({
    ...typeormKit(await new DataSource({ type: 'better-sqlite3', database: file }).initialize()),
    oneAtATime: true,
  }),
};
