import type { FaultRule } from '../fault.js';

/** Errors of object mappers, and of the clients of other databases. */
export const databaseRules: readonly FaultRule[] = [
  {
    name: 'the entity was changed concurrently',
    fault: 'dependency',
    matches: ({ names }) => OPTIMISTIC_LOCKS.some((name) => names.has(name)),
  },
  {
    name: 'MongoDB cannot be reached, or says that another attempt may help',
    fault: 'dependency',
    matches: ({ names, value }) =>
      MONGO_DOWN.some((name) => names.has(name)) ||
      MONGO_LABELS.some((label) => isLabelled(value, label)),
  },
  {
    name: 'MongoDB: a duplicate key',
    fault: 'message',
    matches: ({ names, code }) => code === 11_000 && names.has('MongoServerError'),
  },
  {
    name: 'Prisma cannot reach the database, or its transaction was aborted for another',
    fault: 'dependency',
    matches: ({ code, names }) =>
      PRISMA_DOWN.has(code) || names.has('PrismaClientInitializationError'),
  },
  {
    name: 'Prisma: the data is wrong, or refused by a constraint',
    fault: 'message',
    matches: ({ code }) => PRISMA_REFUSED.has(code),
  },
  {
    name: 'SQLite: the database is locked, full or cannot be read',
    fault: 'dependency',
    matches: ({ code }) => typeof code === 'string' && SQLITE_BUSY.test(code),
  },
  {
    name: 'SQLite: the data is refused by a constraint',
    fault: 'message',
    matches: ({ code }) => typeof code === 'string' && SQLITE_REFUSED.test(code),
  },
];

/** Error classes of TypeORM, MikroORM, Sequelize and Mongoose. */
const OPTIMISTIC_LOCKS = [
  'OptimisticLockVersionMismatchError',
  'OptimisticLockError',
  'SequelizeOptimisticLockError',
  'VersionError',
];

const MONGO_DOWN = [
  'MongoNetworkError',
  'MongoNotConnectedError',
  'MongoServerSelectionError',
  'MongooseServerSelectionError',
];

const MONGO_LABELS = ['TransientTransactionError', 'RetryableWriteError'];

function isLabelled(value: object, label: string): boolean {
  const { hasErrorLabel } = value as { readonly hasErrorLabel?: (label: string) => unknown };
  return typeof hasErrorLabel === 'function' && hasErrorLabel.call(value, label) === true;
}

type Codes = ReadonlySet<string | number | undefined>;

/** Excludes P2003 and P2025 on purpose: the referenced row may still be on its way. */
const PRISMA_DOWN: Codes = new Set([
  'P1001',
  'P1002',
  'P1008',
  'P1017',
  'P2024',
  'P2028',
  'P2034',
  'P2037',
]);

const PRISMA_REFUSED: Codes = new Set([
  'P2000',
  'P2002',
  'P2004',
  'P2005',
  'P2006',
  'P2011',
  'P2012',
  'P2019',
  'P2020',
]);

const SQLITE_BUSY = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|CANTOPEN)(_|$)/;

/** Excludes foreign keys. */
const SQLITE_REFUSED = /^SQLITE_CONSTRAINT_(CHECK|NOTNULL|PRIMARYKEY|UNIQUE|DATATYPE)$/;
