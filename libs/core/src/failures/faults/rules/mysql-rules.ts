import type { FaultRule } from '../fault.js';
import type { Thrown } from '../thrown.js';

/**
 * Rules by error number. mysql2 uses MySQL's names, and MariaDB gives some numbers to other errors.
 * Excluded on purpose, as for PostgreSQL: 1452 and 1451, the foreign keys.
 */
export const mysqlRules: readonly FaultRule[] = [
  {
    name: 'MySQL: the transaction was aborted for another, or waited too long for a lock',
    fault: 'dependency',
    matches: (thrown) => isAmong(CONFLICTS, thrown),
  },
  {
    name: 'MySQL: the server is busy, full, shutting down or read-only',
    fault: 'dependency',
    matches: (thrown) => isAmong(UNAVAILABLE, thrown),
  },
  {
    name: 'MySQL: the server refuses the login',
    fault: 'dependency',
    matches: (thrown) => isAmong(LOGINS, thrown),
  },
  {
    name: 'MySQL: the data is wrong, or refused by a constraint',
    fault: 'message',
    matches: (thrown) => isAmong(REFUSED, thrown),
  },
  {
    name: 'mysql2: the client has no connection, or waited too long',
    fault: 'dependency',
    matches: ({ code, message }) => CLIENT.has(code) || WORDS.has(message),
  },
];

type Numbers = ReadonlyMap<string, number>;

const CONFLICTS: Numbers = new Map([
  ['ER_LOCK_WAIT_TIMEOUT', 1205],
  ['ER_LOCK_TABLE_FULL', 1206],
  ['ER_LOCK_DEADLOCK', 1213],
  ['ER_LOCK_NOWAIT', 3572],
]);

const UNAVAILABLE: Numbers = new Map([
  ['ER_DISK_FULL', 1021],
  ['ER_OUTOFMEMORY', 1037],
  ['ER_CON_COUNT_ERROR', 1040],
  ['ER_OUT_OF_RESOURCES', 1041],
  ['ER_SERVER_SHUTDOWN', 1053],
  ['ER_RECORD_FILE_FULL', 1114],
  ['ER_HOST_IS_BLOCKED', 1129],
  ['ER_TOO_MANY_USER_CONNECTIONS', 1203],
  ['ER_USER_LIMIT_REACHED', 1226],
  ['ER_OPTION_PREVENTS_STATEMENT', 1290],
  ['ER_QUERY_INTERRUPTED', 1317],
  ['ER_READ_ONLY_MODE', 1836],
  ['ER_CONNECTION_KILLED', 1927],
  ['ER_STATEMENT_TIMEOUT', 1969],
  ['ER_QUERY_TIMEOUT', 3024],
  ['ER_CLIENT_INTERACTION_TIMEOUT', 4031],
]);

const LOGINS: Numbers = new Map([
  ['ER_DBACCESS_DENIED_ERROR', 1044],
  ['ER_ACCESS_DENIED_ERROR', 1045],
  ['ER_HOST_NOT_PRIVILEGED', 1130],
  ['ER_ACCESS_DENIED_NO_PASSWORD_ERROR', 1698],
]);

const REFUSED: Numbers = new Map([
  ['ER_BAD_NULL_ERROR', 1048],
  ['ER_DUP_ENTRY', 1062],
  ['ER_WARN_DATA_OUT_OF_RANGE', 1264],
  ['WARN_DATA_TRUNCATED', 1265],
  ['ER_TRUNCATED_WRONG_VALUE', 1292],
  ['ER_NO_DEFAULT_FOR_FIELD', 1364],
  ['ER_TRUNCATED_WRONG_VALUE_FOR_FIELD', 1366],
  ['ER_DATA_TOO_LONG', 1406],
  ['ER_DUP_ENTRY_WITH_KEY_NAME', 1586],
  ['ER_INVALID_JSON_TEXT', 3140],
  ['ER_CHECK_CONSTRAINT_VIOLATED', 3819],
  // MariaDB's number. mysql2 gives it another name.
  ['ER_CONSTRAINT_FAILED', 4025],
]);

/** A number counts only together with an SQLSTATE: other errors have the number of the operating system. */
function isAmong(numbers: Numbers, { code, errno, sqlState }: Thrown): boolean {
  if (errno !== undefined && sqlState !== undefined) return [...numbers.values()].includes(errno);
  return typeof code === 'string' && numbers.has(code);
}

const CLIENT: ReadonlySet<string | number | undefined> = new Set([
  'PROTOCOL_CONNECTION_LOST',
  'PROTOCOL_ENQUEUE_AFTER_FATAL_ERROR',
  'PROTOCOL_SEQUENCE_TIMEOUT',
]);

/** Messages of errors without a code. */
const WORDS: ReadonlySet<string> = new Set([
  "Can't add new command when connection is in closed state",
  'No connections available.',
  'Pool is closed.',
  'Queue limit reached.',
]);
