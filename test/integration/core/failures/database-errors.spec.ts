import { faultOf, type Fault } from '@nest-event-bus/core';
import { unique } from '@nest-event-bus/testing';
import { createConnection, type Connection } from 'mysql2/promise';
import { describeWithService } from '../../support/index.js';
import { closedPort, expectFault, rejectionOf } from '../../support/thrown-errors.js';

const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));

interface PostgresClient {
  connect(): Promise<void>;
  end(): Promise<void>;
  query(sql: string, values?: readonly unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
  on(event: 'error', listener: () => void): this;
}

interface PostgresPool extends Omit<PostgresClient, 'connect'> {
  connect(): Promise<{ release(): void }>;
}

// pg has no type declarations.
const { Client, Pool } = require('pg') as {
  readonly Client: new (options: object) => PostgresClient;
  readonly Pool: new (options: object) => PostgresPool;
};

describeWithService('PostgreSQL', 'The fault of an error that pg throws', (connectionString) => {
  const table = unique('faults').replaceAll('-', '_');
  const clients: PostgresClient[] = [];
  let client: PostgresClient;

  const open = async (options: object = {}): Promise<PostgresClient> => {
    const opened = new Client({ connectionString, ...options }).on('error', () => undefined);
    clients.push(opened);
    await opened.connect();
    return opened;
  };

  beforeAll(async () => {
    client = await open();
    await client.query(
      `create table ${table} (id int primary key, name varchar(3) not null, price int check (price > 0), parent int references ${table})`,
    );
    await client.query(`insert into ${table} values (1, 'a', 1, null), (2, 'b', 1, null)`);
  });

  afterAll(async () => {
    await (await open()).query(`drop table ${table}`);
    await Promise.allSettled(clients.map((each) => each.end()));
  });

  const insert = (values: string) => () => client.query(`insert into ${table} values (${values})`);

  it.each<[Fault, string, string]>([
    ['message', 'a duplicate key', "1, 'a', 1, null"],
    ['message', 'a missing value', '3, null, 1, null'],
    ['message', 'a violated check', "3, 'a', -1, null"],
    ['message', 'a text that is too long', "3, 'long', 1, null"],
    ['message', 'a text instead of a number', "'x', 'a', 1, null"],
    ['unknown', 'a missing foreign key', "3, 'a', 1, 77"],
  ])("is '%s' for %s", (fault, _, values) => expectFault(fault, insert(values)));

  it("is 'unknown' for a missing table", () =>
    expectFault('unknown', () => client.query('select * from nowhere_at_all')));

  it("is 'dependency' for a statement timeout", () =>
    expectFault('dependency', async () =>
      (await open({ statement_timeout: 30 })).query('select pg_sleep(5)'),
    ));

  it("is 'dependency' for a query timeout", () =>
    expectFault('dependency', async () =>
      (await open({ query_timeout: 30 })).query('select pg_sleep(1)'),
    ));

  it("is 'dependency' for a locked row", async () => {
    const other = await open();
    await client.query('begin');
    await client.query(`update ${table} set price = 2 where id = 1`);
    await expectFault('dependency', () =>
      other.query(`select * from ${table} where id = 1 for update nowait`),
    );
    await client.query('rollback');
  });

  it("is 'dependency' for a deadlock", async () => {
    const other = await open();
    await Promise.all([client.query('begin'), other.query('begin')]);
    await client.query(`update ${table} set price = 2 where id = 1`);
    await other.query(`update ${table} set price = 2 where id = 2`);
    await expectFault('dependency', () =>
      Promise.all([
        client.query(`update ${table} set price = 3 where id = 2`),
        other.query(`update ${table} set price = 3 where id = 1`),
      ]),
    );
    await Promise.all([client.query('rollback'), other.query('rollback')]);
  });

  it("is 'dependency' for a serialization failure", async () => {
    const other = await open();
    await client.query('begin isolation level repeatable read');
    await client.query(`select * from ${table}`);
    await other.query(`update ${table} set price = 9 where id = 1`);
    await expectFault('dependency', () =>
      client.query(`update ${table} set price = 8 where id = 1`),
    );
    await client.query('rollback');
  });

  it("is 'dependency' for a connection that the server closes, and for later queries of its client", async () => {
    const victim = await open();
    const { rows } = await victim.query('select pg_backend_pid() as pid');
    const query = rejectionOf(() => victim.query('select pg_sleep(5)'));
    await pause(50);
    await client.query('select pg_terminate_backend($1)', [rows[0]?.['pid']]);
    expect(faultOf(await query)).toBe('dependency');
    await pause(50);
    await expectFault('dependency', () => victim.query('select 1'));
  });

  it("is 'dependency' for a pool without a free connection", async () => {
    const pool = new Pool({ connectionString, max: 1, connectionTimeoutMillis: 1_000 });
    const taken = await pool.connect();
    await expectFault('dependency', () => pool.query('select 1'));
    taken.release();
    await pool.end();
  });

  it("is 'dependency' for a closed port", () =>
    expectFault('dependency', async () =>
      new Client({ host: '127.0.0.1', port: await closedPort() }).connect(),
    ));
});

describeWithService('MySQL', 'The fault of an error that mysql2 throws', (url) => {
  const database = unique('faults').replaceAll('-', '_');
  const connections: Connection[] = [];
  let connection: Connection;

  const open = async (): Promise<Connection> => {
    const opened = await createConnection(url);
    connections.push(opened);
    // A closed connection without a listener would be an uncaught exception.
    opened.on('error', () => undefined);
    await opened.query(`use ${database}`);
    return opened;
  };

  beforeAll(async () => {
    const first = await createConnection(url);
    await first.query(`create database ${database}`);
    await first.end();
    connection = await open();
    await connection.query(
      'create table items (id int primary key, name varchar(3) not null, price int check (price > 0), parent int, foreign key (parent) references items (id)) engine = innodb',
    );
    await connection.query("insert into items values (1, 'a', 1, null), (2, 'b', 1, null)");
  });

  afterAll(async () => {
    await (await open()).query(`drop database ${database}`);
    connections.forEach((each) => each.destroy());
  });

  it.each<[Fault, string, string]>([
    ['message', 'a duplicate key', "1, 'a', 1, null"],
    ['message', 'a missing value', '3, null, 1, null'],
    ['message', 'a violated check', "3, 'a', -1, null"],
    ['message', 'a text that is too long', "3, 'long', 1, null"],
    ['message', 'a text instead of a number', "'x', 'a', 1, null"],
    ['message', 'a number that is too large', "99999999999, 'a', 1, null"],
    ['unknown', 'a missing foreign key', "3, 'a', 1, 77"],
  ])("is '%s' for %s", (fault, _, values) =>
    expectFault(fault, () => connection.query(`insert into items values (${values})`)),
  );

  it("is 'unknown' for a missing table", () =>
    expectFault('unknown', () => connection.query('select * from nowhere_at_all')));

  it("is 'dependency' for a locked row", async () => {
    const other = await open();
    await other.query('set innodb_lock_wait_timeout = 1');
    await connection.query('begin');
    await connection.query('update items set price = 2 where id = 1');
    await expectFault('dependency', () => other.query('update items set price = 3 where id = 1'));
    await connection.query('rollback');
  });

  it("is 'dependency' for a deadlock", async () => {
    const other = await open();
    await Promise.all([connection.query('begin'), other.query('begin')]);
    await connection.query('update items set price = 2 where id = 1');
    await other.query('update items set price = 2 where id = 2');
    await expectFault('dependency', () =>
      Promise.all([
        connection.query('update items set price = 3 where id = 2'),
        other.query('update items set price = 3 where id = 1'),
      ]),
    );
    await Promise.all([connection.query('rollback'), other.query('rollback')]);
  });

  it("is 'dependency' for a query timeout", () =>
    expectFault('dependency', async () =>
      (await open()).query({ sql: 'select sleep(1)', timeout: 30 }),
    ));

  it("is 'dependency' for a connection that the server closes, and for later queries of its client", async () => {
    const victim = await open();
    const query = rejectionOf(() => victim.query('select sleep(5)'));
    await pause(50);
    await connection.query(`kill ${victim.threadId}`);
    expect(faultOf(await query)).toBe('dependency');
    await expectFault('dependency', () => victim.query('select 1'));
  });

  it("is 'dependency' for a refused login", () =>
    expectFault('dependency', () => {
      const { hostname, port } = new URL(url);
      return createConnection({
        host: hostname,
        port: Number(port),
        user: 'nobody_at_all',
        password: 'x',
      });
    }));

  it("is 'dependency' for a closed port", () =>
    expectFault('dependency', async () =>
      createConnection({ host: '127.0.0.1', port: await closedPort() }),
    ));
});
