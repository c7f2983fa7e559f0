import { dialectOf, type SqlResult, type SqlRow } from '@nest-event-bus/outbox-sql';
import { hasFunctions, type Loose, type TransactionAdapter } from './transaction-adapter.js';

interface PrismaHandle {
  $transaction<T>(work: (tx: object) => Promise<T>): Promise<T>;
  $queryRawUnsafe(sql: string, ...values: readonly unknown[]): Promise<readonly SqlRow[]>;
  $executeRawUnsafe(sql: string, ...values: readonly unknown[]): Promise<number>;
}

const prismaOf = (handle: object): PrismaHandle => handle as PrismaHandle;

/** Interactive transactions of Prisma. Their time limits are `transactionOptions` of the client. */
export const prisma: TransactionAdapter = {
  name: 'Prisma',
  matches: (handle) => hasFunctions(handle, '$queryRawUnsafe', '$executeRawUnsafe'),
  // The client of a transaction has no connection of its own to open or close.
  isInTransaction: (handle) => !hasFunctions(handle, '$connect'),
  transaction: (database, work) => prismaOf(database).$transaction(work),
  connectionOf(tx) {
    const dialect = dialectOf({ dialect: (tx as Loose)['_activeProvider'] }) ?? 'postgres';
    return {
      dialect,
      async run(sql: string, values: readonly unknown[]): Promise<SqlResult> {
        try {
          return await run(prismaOf(tx), sql, values);
        } catch (error) {
          throw driverError(error);
        }
      },
    };
  },
};

async function run(tx: PrismaHandle, sql: string, values: readonly unknown[]): Promise<SqlResult> {
  if (!/^\s*(SELECT|WITH)|RETURNING/.test(sql))
    return { rows: [], changed: await tx.$executeRawUnsafe(sql, ...values) };
  const rows = await tx.$queryRawUnsafe(sql, ...values);
  return { rows, changed: rows.length };
}

/** Prisma hides the code of the driver's error, which says for example that the table is missing. */
function driverError(error: unknown): unknown {
  const { meta } = error as {
    readonly meta?: {
      readonly driverAdapterError?: {
        readonly cause?: { readonly originalCode?: unknown; readonly originalMessage?: unknown };
      };
    };
  };
  const { originalCode, originalMessage } = meta?.driverAdapterError?.cause ?? {};
  if (typeof originalCode !== 'string') return error;
  const known = new Error(String(originalMessage), { cause: error });
  return Object.assign(known, { code: originalCode });
}
