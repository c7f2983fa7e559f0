import type { FaultTable } from './fault-case.spec-support.js';
import { coded, mysql, named, pg, redisReply } from './recorded-errors.spec-support.js';

export const DATABASES: FaultTable = {
  'SQL: the transaction was aborted for another (40001, 40P01, 55P03)': [
    'dependency',
    [
      ['serialisation', pg('40001')],
      ['deadlock', pg('40P01')],
      ['NOWAIT', pg('55P03')],
      ['a deadlock of MySQL', mysql('ER_LOCK_DEADLOCK', 1213, '40001')],
      ['wrapped by TypeORM', named('QueryFailedError', { driverError: pg('40P01') })],
      ['wrapped by Sequelize', named('SequelizeDatabaseError', { original: pg('40001') })],
    ],
  ],
  'SQL: the database cannot be reached, is full, busy or read-only (08, 53, 57, 58)': [
    'dependency',
    [
      ['connection lost', pg('08006')],
      ['too many connections', pg('53300')],
      ['shut down', pg('57P01')],
      ['starting', pg('57P03')],
      ['statement_timeout', pg('57014')],
      ['a replica', pg('25006')],
      ['too many connections of MySQL', mysql('ER_CON_COUNT_ERROR', 1040, '08004')],
    ],
  ],
  'SQL: the database refuses the login (28)': [
    'dependency',
    [
      ['wrong password', pg('28P01')],
      ['of MySQL', mysql('ER_ACCESS_DENIED_ERROR', 1045, '28000')],
    ],
  ],
  'SQL: the data is wrong (22)': [
    'message',
    [
      ['too long', pg('22001')],
      ['no number', pg('22P02')],
      ['too long for MySQL', mysql('ER_DATA_TOO_LONG', 1406, '22001')],
    ],
  ],
  'SQL: the data is refused by a constraint (23502, 23505, 23514, 23P01)': [
    'message',
    [
      ['null', pg('23502')],
      ['a duplicate', pg('23505')],
      ['a check', pg('23514')],
    ],
  ],
  'pg: the client has no connection, or waited too long': [
    'dependency',
    [
      ['lost', new Error('Connection terminated unexpectedly')],
      ['no connection in the pool', new Error('timeout exceeded when trying to connect')],
      ['query_timeout', new Error('Query read timeout')],
    ],
  ],
  'MySQL: the transaction was aborted for another, or waited too long for a lock': [
    'dependency',
    [
      ['a lock', mysql('ER_LOCK_WAIT_TIMEOUT', 1205, 'HY000')],
      ['a deadlock, of which only the code is left', coded('ER_LOCK_DEADLOCK')],
    ],
  ],
  'MySQL: the server is busy, full, shutting down or read-only': [
    'dependency',
    [
      ['going away', mysql('ER_SERVER_SHUTDOWN', 1053, 'HY000')],
      ['too many connections, by code', coded('ER_CON_COUNT_ERROR')],
      ['idle for too long', mysql('ER_CLIENT_INTERACTION_TIMEOUT', 4031, 'HY000')],
      ['the host is blocked after too many errors', mysql('ER_HOST_IS_BLOCKED', 1129, 'HY000')],
      ['a statement that MariaDB stopped', named('Error', { errno: 1969, sqlState: '70100' })],
    ],
  ],
  'MySQL: the server refuses the login': [
    'dependency',
    [
      ['by code', coded('ER_ACCESS_DENIED_ERROR')],
      ['from this host', mysql('ER_HOST_NOT_PRIVILEGED', 1130, 'HY000')],
    ],
  ],
  'MySQL: the data is wrong, or refused by a constraint': [
    'message',
    [
      ['a duplicate', mysql('ER_DUP_ENTRY', 1062, '23000')],
      ['null', mysql('ER_BAD_NULL_ERROR', 1048, '23000')],
      ['too long, by code', coded('ER_DATA_TOO_LONG')],
      ['a wrong value, by code', coded('ER_TRUNCATED_WRONG_VALUE_FOR_FIELD')],
      [
        'a check of MariaDB, which mysql2 takes for something else',
        mysql('ER_INNODB_AUTOEXTEND_SIZE_OUT_OF_RANGE', 4025, '23000'),
      ],
    ],
  ],
  'mysql2: the client has no connection, or waited too long': [
    'dependency',
    [
      ['lost', coded('PROTOCOL_CONNECTION_LOST')],
      ['timeout', coded('PROTOCOL_SEQUENCE_TIMEOUT')],
      ['closed', new Error("Can't add new command when connection is in closed state")],
    ],
  ],
  'the entity was changed concurrently': [
    'dependency',
    [
      ['TypeORM', named('OptimisticLockVersionMismatchError')],
      ['Mongoose', named('VersionError')],
    ],
  ],
  'MongoDB cannot be reached, or says that another attempt may help': [
    'dependency',
    [
      ['unreachable', named('MongoServerSelectionError')],
      [
        'a transaction that lost',
        named('MongoServerError', {
          code: 112,
          hasErrorLabel: (label: string) => label === 'TransientTransactionError',
        }),
      ],
    ],
  ],
  'MongoDB: a duplicate key': [
    'message',
    [['E11000', named('MongoServerError', { code: 11_000 })]],
  ],
  'Prisma cannot reach the database, or its transaction was aborted for another': [
    'dependency',
    [
      ['a write conflict', named('PrismaClientKnownRequestError', { code: 'P2034' })],
      [
        'a transaction that took too long',
        named('PrismaClientKnownRequestError', { code: 'P2028' }),
      ],
      ['too many connections', named('PrismaClientKnownRequestError', { code: 'P2037' })],
      ['no database', named('PrismaClientInitializationError', { errorCode: 'P1001' })],
    ],
  ],
  'Prisma: the data is wrong, or refused by a constraint': [
    'message',
    [['a duplicate', named('PrismaClientKnownRequestError', { code: 'P2002' })]],
  ],
  'SQLite: the database is locked, full or cannot be read': [
    'dependency',
    [
      ['locked', coded('SQLITE_BUSY')],
      ['locked for a snapshot', coded('SQLITE_BUSY_SNAPSHOT')],
    ],
  ],
  'SQLite: the data is refused by a constraint': [
    'message',
    [['a duplicate', coded('SQLITE_CONSTRAINT_PRIMARYKEY')]],
  ],
  'ioredis has no connection, or waited too long': [
    'dependency',
    [
      ['given up', named('MaxRetriesPerRequestError')],
      ['closed', new Error('Connection is closed.')],
      ['commandTimeout', new Error('Command timed out')],
    ],
  ],
  'Redis: the server is loading, read-only, full, out of order or refuses the login': [
    'dependency',
    [
      ['a replica', redisReply('READONLY You can not write against a read only replica.')],
      ['loading', redisReply('LOADING Redis is loading the dataset in memory')],
      ['a cluster that is down', redisReply('CLUSTERDOWN The cluster is down')],
      ['the login', redisReply('WRONGPASS invalid username-password pair')],
    ],
  ],
};
