import type { FaultRule } from '../fault.js';

/**
 * Rules by SQLSTATE, so that other databases with SQLSTATEs match as well. Excluded on purpose:
 * 23503 (the referenced row may still be on its way from another topic) and class 42 (a table or a
 * column is missing: a migration has not run yet, or never will).
 */
export const postgresRules: readonly FaultRule[] = [
  {
    name: 'SQL: the transaction was aborted for another (40001, 40P01, 55P03)',
    fault: 'dependency',
    matches: ({ sqlState }) => CONFLICTS.has(sqlState),
  },
  {
    name: 'SQL: the database cannot be reached, is full, busy or read-only (08, 53, 57, 58)',
    fault: 'dependency',
    matches: ({ sqlState }) =>
      UNAVAILABLE.has(sqlState) || isOf(sqlState, ['08', '53', '57', '58']),
  },
  {
    // The login belongs to the application, not to the message: no record can be handled.
    name: 'SQL: the database refuses the login (28)',
    fault: 'dependency',
    matches: ({ sqlState }) => isOf(sqlState, ['28']),
  },
  {
    name: 'SQL: the data is wrong (22)',
    fault: 'message',
    matches: ({ sqlState }) => isOf(sqlState, ['22']),
  },
  {
    name: 'SQL: the data is refused by a constraint (23502, 23505, 23514, 23P01)',
    fault: 'message',
    matches: ({ sqlState }) => REFUSED.has(sqlState),
  },
  {
    name: 'pg: the client has no connection, or waited too long',
    fault: 'dependency',
    matches: ({ message }) => WORDS.has(message),
  },
];

type States = ReadonlySet<string | undefined>;

const CONFLICTS: States = new Set(['40001', '40003', '40P01', '55006', '55P03']);

/** Idle in a transaction for too long; or the server is a replica and not the primary. */
const UNAVAILABLE: States = new Set(['25006', '25P03']);

/** Missing value, duplicate, check and exclusion; 40002 reports one of them at the commit. */
const REFUSED: States = new Set(['23502', '23505', '23514', '23P01', '40002']);

const isOf = (sqlState: string | undefined, classes: readonly string[]): boolean =>
  sqlState !== undefined && classes.includes(sqlState.slice(0, 2));

/** Messages of errors without a code. */
const WORDS: ReadonlySet<string> = new Set([
  'Client has encountered a connection error and is not queryable',
  'Client was closed and is not queryable',
  'Connection terminated',
  'Connection terminated due to connection timeout',
  'Connection terminated unexpectedly',
  'Query read timeout',
  'timeout exceeded when trying to connect',
  'timeout expired',
]);
