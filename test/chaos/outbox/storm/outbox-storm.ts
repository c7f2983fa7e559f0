import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { SqlOutboxSchema } from '@nest-event-bus/outbox-sql';
import {
  DEFAULT_KAFKA_VERSION,
  eventually,
  type StartedKafka,
  unique,
} from '@nest-event-bus/testing';
import { Client, Pool } from 'pg';
import { kafkaJars } from '../../../../libs/testing/src/kafka/local/kafka-jars.js';
import { Child } from '../../../integration/core/support/children/child-process.js';
import type { OwnPostgres } from '../../../integration/support/own-postgres.js';
import type { SeededRandom } from '../../broker/support/seeded-random.js';
import type { NodeSettings } from './node-settings.js';
import { examineLog, type Incident, type LogReport, parseRecord } from './published-log.js';

const PROGRAM = join(__dirname, 'outbox-node.ts');
const READER = join(__dirname, 'RecordLog.java');
const PARTITIONS = 3;
const NODES = 3;
const KEYS = 300;
const LIMIT = { timeoutMs: 300_000, intervalMs: 250 };

export interface StormOptions {
  readonly mode: NodeSettings['mode'];
  readonly kafka: StartedKafka;
  readonly postgres: OwnPostgres;
  /** The storm goes on until this number of events is committed. */
  readonly events: number;
  readonly everyMs: number;
  readonly random: SeededRandom;
}

export interface StormReport extends LogReport {
  readonly committed: number;
  readonly incidents: readonly Incident[];
  readonly kills: number;
  readonly freezes: number;
  /** The states of the events in the database, with their numbers. */
  readonly states: Readonly<Record<string, number>>;
  readonly seconds: number;
}

interface RunningNode {
  readonly name: string;
  readonly child: Child;
}

/** Kills and freezes nodes of an application that writes and publishes events. */
export class OutboxStorm {
  readonly #topic = unique('storm');
  readonly #incidents: Incident[] = [];
  readonly #nodes: RunningNode[] = [];
  /** All that were ever started, also those that are killed or frozen. */
  readonly #children: Child[] = [];
  readonly #leaseMs = 10_000;
  readonly #pool: Pool;
  #started = 0;

  constructor(private readonly options: StormOptions) {
    this.#pool = new Pool({ connectionString: options.postgres.url, max: 2 });
    this.#pool.on('error', () => undefined);
  }

  async run(): Promise<StormReport> {
    const startedAt = realRuntime.monotonic();
    try {
      await this.#prepare();
      for (let node = 0; node < NODES; node++) this.#startNode();
      await Promise.all(this.#nodes.map(({ child }) => child.hasPrinted('ready')));
      await this.#rage();
      await this.#settle();
      const log = await this.#readLog();
      const committed = await this.#committed();
      const count = (what: string): number =>
        this.#incidents.filter((incident) => incident.what === what).length;
      return {
        ...examineLog(log, committed, this.#incidents),
        committed: committed.size,
        incidents: this.#incidents,
        kills: count('kill'),
        freezes: count('freeze'),
        states: await this.#states(),
        seconds: (realRuntime.monotonic() - startedAt) / 1_000,
      };
    } finally {
      for (const child of this.#children) child.kill();
      await Promise.all(this.#children.map(({ ended }) => ended));
      await this.#pool.end();
    }
  }

  async #prepare(): Promise<void> {
    const driver = kafkajs({ brokers: this.options.kafka.brokers });
    await driver.admin().createTopics([{ name: this.#topic, partitions: PARTITIONS }]);
    await driver.close();
    const client = new Client({ connectionString: this.options.postgres.url });
    await client.connect();
    await client.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
    await new SqlOutboxSchema('postgres').migrate(client);
    await client.query('CREATE TABLE storm (is_over boolean)');
    await client.query('INSERT INTO storm VALUES (false)');
    await client.query('CREATE TABLE orders (id int PRIMARY KEY, version int)');
    await client.query(`INSERT INTO orders SELECT n, 0 FROM generate_series(0, ${KEYS - 1}) AS n`);
    await client.end();
  }

  #startNode(): void {
    const { mode, kafka, postgres } = this.options;
    const name = `node-${++this.#started}`;
    const settings: NodeSettings = {
      mode,
      node: name,
      databaseUrl: postgres.url,
      brokers: kafka.brokers,
      topic: this.#topic,
      keys: KEYS,
      leaseMs: this.#leaseMs,
      writers: 3,
      pauseMs: 10,
    };
    const child = new Child(PROGRAM, { args: [JSON.stringify(settings)] });
    this.#children.push(child);
    this.#nodes.push({ name, child });
  }

  /** Runs each kind of incident at least once, and kills until enough events are committed. */
  async #rage(): Promise<void> {
    const incidents = [
      () => this.#kill(),
      () => this.#freeze(),
      () => this.#restartDatabase(),
      () => this.#kill(),
      () => this.#restartBroker(),
      () => this.#freeze(),
    ];
    for (let number = 0; ; number++) {
      await sleep(realRuntime, this.options.everyMs);
      await (incidents[number] ?? incidents[0])?.();
      if (number >= incidents.length - 1 && (await this.#count()) >= this.options.events) return;
    }
  }

  async #kill(): Promise<void> {
    const { name, child } = this.#takeOne();
    await child.hasPrinted('ready');
    const from = Date.now();
    child.kill();
    await child.ended;
    this.#note('kill', name, from);
    this.#startNode();
  }

  /** Freezes a node for longer than its lease. Others take its events over meanwhile. */
  async #freeze(): Promise<void> {
    const frozen = this.#takeOne();
    await frozen.child.hasPrinted('ready');
    const from = Date.now();
    frozen.child.suspend();
    await sleep(realRuntime, 2 * this.#leaseMs);
    frozen.child.resume();
    this.#note('freeze', frozen.name, from);
    this.#nodes.push(frozen);
  }

  async #restartDatabase(): Promise<void> {
    const from = Date.now();
    await this.options.postgres.crash();
    await sleep(realRuntime, 1_000);
    await this.options.postgres.restart();
    this.#note('database', undefined, from);
  }

  async #restartBroker(): Promise<void> {
    const from = Date.now();
    await this.options.kafka.restart(0);
    this.#note('broker', undefined, from);
  }

  #takeOne(): RunningNode {
    const index = this.options.random.between(0, this.#nodes.length - 1);
    const [node] = this.#nodes.splice(index, 1);
    if (!node) throw new Error('no node runs');
    return node;
  }

  #note(what: string, node: string | undefined, from: number): void {
    this.#incidents.push({ what, node, from, to: Date.now() });
  }

  /** Ends the writers, and waits until every event has its result. */
  async #settle(): Promise<void> {
    await this.#query('UPDATE storm SET is_over = true');
    await Promise.all(this.#nodes.map(({ child }) => child.hasPrinted('written')));
    await eventually(
      async () => {
        const [row] = await this.#query(
          'SELECT count(*)::int AS open FROM outbox_event WHERE status IN (0, 2)',
        );
        return row?.['open'] === 0;
      },
      { ...LIMIT, description: 'the end of all events' },
    );
  }

  async #count(): Promise<number> {
    const [row] = await this.#query('SELECT sum(version)::int AS events FROM orders');
    return Number(row?.['events']);
  }

  async #states(): Promise<StormReport['states']> {
    const rows = await this.#query(
      'SELECT status, count(*)::int AS events FROM outbox_event GROUP BY status',
    );
    return Object.fromEntries(rows.map(({ status, events }) => [String(status), Number(events)]));
  }

  async #committed(): Promise<ReadonlySet<string>> {
    const rows = await this.#query('SELECT event_id FROM outbox_event');
    return new Set(rows.map((row) => String(row['event_id'])));
  }

  async #query(sql: string): Promise<readonly Record<string, unknown>[]> {
    const { rows } = await this.#pool.query<Record<string, unknown>>(sql);
    return rows;
  }

  async #readLog(): Promise<ReturnType<typeof parseRecord>[]> {
    const { java, classPath } = await kafkaJars(DEFAULT_KAFKA_VERSION);
    const flags = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', classPath];
    const { stdout } = await promisify(execFile)(
      java,
      [...flags, READER, this.options.kafka.brokers.join(), this.#topic],
      { timeout: 240_000, killSignal: 'SIGKILL', maxBuffer: 256 * 1024 * 1024 },
    );
    return stdout.split('\n').filter(Boolean).map(parseRecord);
  }
}
