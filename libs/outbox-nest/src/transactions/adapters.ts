import { IllegalArgumentError } from '@nest-event-bus/outbox';
import { drizzle } from './drizzle.js';
import { knex } from './knex.js';
import { kysely } from './kysely.js';
import { mikroOrm } from './mikro-orm.js';
import { plainDriver } from './plain-driver.js';
import { prisma } from './prisma.js';
import type { TransactionAdapter } from './transaction-adapter.js';
import { typeorm } from './typeorm.js';

const adapters: readonly TransactionAdapter[] = [
  typeorm,
  mikroOrm,
  kysely,
  drizzle,
  knex,
  prisma,
  plainDriver,
];

export function adapterOf(handle: unknown): TransactionAdapter {
  const adapter = isObject(handle) && adapters.find(({ matches }) => matches(handle));
  if (adapter) return adapter;
  throw new IllegalArgumentError(
    'The handle is not a database or a transaction of TypeORM, MikroORM, Kysely, Drizzle, Knex, Prisma, pg, mysql2, better-sqlite3 or node:sqlite. Pass one of them.',
  );
}

const isObject = (handle: unknown): handle is object =>
  (typeof handle === 'object' && handle !== null) || typeof handle === 'function';
