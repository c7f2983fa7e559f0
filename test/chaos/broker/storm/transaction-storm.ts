import type { AdminSession, BrokerDriver } from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { eventually, unique, type StartedKafka } from '@nest-event-bus/testing';
import type { WorkerReport } from '../../../integration/kafkajs/exactly-once-worker.js';
import type { Regression } from '../support/committed-watch.js';
import type { MembershipName } from '../support/memberships.js';
import type { SeededRandom } from '../support/seeded-random.js';
import { disturbConnections } from './disturb-connections.js';
import { outputFaults, type OutputFaults } from './output-faults.js';
import { PacedWriter } from './paced-writer.js';
import {
  coordinationPartition,
  OFFSETS_TOPIC,
  regressionsOf,
  storedCommits,
} from './stored-commits.js';
import { FailingBrokers } from './failing-brokers.js';
import { WorkerProcess } from './worker-process.js';

export interface TransactionStormSettings {
  readonly cluster: StartedKafka;
  readonly membership: MembershipName;
  readonly random: SeededRandom;
  readonly records: number;
  readonly perSecond: number;
  /** Maximum number of records in one transaction. */
  readonly recordsAtOnce: number;
  /** Left out: each kind of incident at least once. */
  readonly leastIncidents?: number;
}

export interface TransactionStormReport extends OutputFaults {
  readonly figures: Readonly<Record<string, number | string>>;
  readonly failures: readonly string[];
  readonly inputs: number;
  readonly regressions: readonly Regression[];
}

const TRANSACTIONS_TOPIC = '__transaction_state';
const PARTITIONS = 6;
const WORKERS = 3;
const SESSION_TIMEOUT_MS = 2_000;
const CATCH_UP_TIMEOUT_MS = 120_000;
const CHANGE_EVERY_MS = 2_000;
/** Disturbed connections per incident. */
const DISTURBANCES = 10;

/**
 * Consume, transform, produce on three brokers with three workers, while brokers and workers are killed and
 * frozen, workers leave and return, and connections are cut.
 */
export class TransactionStorm {
  readonly #settings: TransactionStormSettings;
  readonly #source = unique('in');
  readonly #target = unique('out');
  readonly #groupId = unique('transformers');
  readonly #driver: BrokerDriver;
  readonly #admin: AdminSession;
  readonly #brokers: FailingBrokers;
  readonly #workers: WorkerProcess[] = [];

  constructor(settings: TransactionStormSettings) {
    this.#settings = settings;
    const { cluster, random } = settings;
    this.#driver = kafkajs({ brokers: cluster.brokers, clientId: 'transaction-storm' });
    this.#admin = this.#driver.admin();
    this.#brokers = new FailingBrokers(cluster, this.#admin, random);
  }

  async run(): Promise<TransactionStormReport> {
    try {
      return await this.#run();
    } finally {
      await Promise.all(this.#workers.map((worker) => worker.kill()));
      await this.#driver.close();
    }
  }

  async #run(): Promise<TransactionStormReport> {
    const { cluster, membership, recordsAtOnce, records, perSecond } = this.#settings;
    const startedAt = realRuntime.monotonic();
    const connectedBefore = this.#connections;
    await this.#admin.createTopics(
      [this.#source, this.#target].map((name) => ({ name, partitions: PARTITIONS })),
    );
    for (let count = 0; count < WORKERS; count++)
      this.#workers.push(
        new WorkerProcess({
          brokers: cluster.proxiedBrokers,
          groupId: this.#groupId,
          transactionalId: unique('transformer'),
          source: this.#source,
          target: this.#target,
          membership,
          recordsAtOnce,
        }),
      );
    const writer = new PacedWriter(this.#driver, {
      topic: this.#source,
      partitions: PARTITIONS,
      records,
      perSecond,
    });
    await this.#untilCommitted(1);
    const incidents = await this.#makeIncidents(writer);
    await writer.done();
    await this.#untilCommitted(writer.acknowledged.length);
    const reports = this.#workers.flatMap((worker) => worker.reports);
    await Promise.all(this.#workers.map((worker) => worker.kill()));
    const inputs = await this.#read(this.#source);
    const outputs = await this.#read(this.#target);
    const faults = outputFaults(inputs, outputs);
    const stored = await storedCommits(this.#admin, this.#groupId);
    const sum = (key: keyof WorkerReport): number =>
      reports.reduce((total, report) => total + report[key], 0);
    return {
      figures: {
        membership,
        seed: this.#settings.random.seed,
        incidents: incidents.join(' + '),
        inputs: inputs.length,
        outputs: outputs.length,
        doubled: faults.duplicated.length,
        'connections of workers': this.#connections - connectedBefore,
        'transactions committed': sum('committed'),
        aborted: sum('aborted'),
        failed: sum('failed'),
        'left open': sum('abandoned'),
        'fate unknown': sum('unknown'),
        'commits stored': stored.length,
        'took ms': Math.round(realRuntime.monotonic() - startedAt),
      },
      failures: writer.failures,
      inputs: inputs.length,
      ...faults,
      regressions: regressionsOf(stored),
    };
  }

  async #makeIncidents(writer: PacedWriter): Promise<string[]> {
    const incidents = this.#incidents();
    const { random, leastIncidents = Object.keys(incidents).length } = this.#settings;
    const happened: string[] = [];
    while (!writer.isDone || happened.length < leastIncidents)
      for (const [name, happen] of random.shuffled(Object.entries(incidents))) {
        if (writer.isDone && happened.length >= leastIncidents) break;
        await happen();
        happened.push(name);
      }
    for (const proxy of this.#settings.cluster.proxies) proxy.forward();
    return happened;
  }

  #incidents(): Record<string, () => Promise<void>> {
    const brokers = this.#brokers;
    const frozenMs = (): number => SESSION_TIMEOUT_MS + this.#settings.random.between(500, 2_000);
    return {
      'leader killed': async () => brokers.kill(await this.#leader()),
      'leader frozen': async () => brokers.freeze(await this.#leader(), frozenMs()),
      'group coordinator killed': async () => brokers.kill(await this.#groupCoordinator()),
      'group coordinator frozen': async () =>
        brokers.freeze(await this.#groupCoordinator(), frozenMs()),
      'transaction coordinator killed': async () =>
        brokers.kill(await this.#transactionCoordinator()),
      'transaction coordinator frozen': async () =>
        brokers.freeze(await this.#transactionCoordinator(), frozenMs()),
      'connections cut and replies swallowed': () => this.#disturbConnections(),
      'worker left and came back': async () => {
        const worker = this.#randomWorker();
        await worker.leave();
        await sleep(realRuntime, CHANGE_EVERY_MS);
        worker.restart();
        await sleep(realRuntime, CHANGE_EVERY_MS);
      },
      'worker killed': async () => {
        const worker = this.#randomWorker();
        await worker.kill();
        await sleep(realRuntime, this.#settings.random.between(0, 2_000));
        worker.restart();
        await sleep(realRuntime, SESSION_TIMEOUT_MS);
      },
      'worker frozen': async () => {
        const worker = this.#randomWorker();
        worker.freeze();
        await sleep(realRuntime, frozenMs());
        worker.thaw();
        await sleep(realRuntime, SESSION_TIMEOUT_MS);
      },
    };
  }

  /** Leader of a random partition of the source or target topic. */
  #leader(): Promise<number> {
    const { random } = this.#settings;
    const topic = random.oneOf([this.#source, this.#target]);
    return this.#brokers.leaderOf(topic, random.between(0, PARTITIONS - 1));
  }

  async #disturbConnections(): Promise<void> {
    const { cluster, random } = this.#settings;
    for (let disturbances = 0; disturbances < DISTURBANCES; disturbances++) {
      const [proxy] = random.shuffled(cluster.proxies);
      if (proxy) await disturbConnections(proxy, random);
      await sleep(realRuntime, random.between(50, 400));
    }
  }

  get #connections(): number {
    const { proxies } = this.#settings.cluster;
    return proxies.reduce((count, { acceptedConnections }) => count + acceptedConnections, 0);
  }

  async #groupCoordinator(): Promise<number> {
    const partition = await coordinationPartition(this.#admin, this.#groupId, OFFSETS_TOPIC);
    return this.#brokers.leaderOf(OFFSETS_TOPIC, partition);
  }

  async #transactionCoordinator(): Promise<number> {
    const { transactionalId } = this.#randomWorker();
    const partition = await coordinationPartition(this.#admin, transactionalId, TRANSACTIONS_TOPIC);
    return this.#brokers.leaderOf(TRANSACTIONS_TOPIC, partition);
  }

  #randomWorker(): WorkerProcess {
    return this.#settings.random.oneOf(this.#workers as [WorkerProcess, ...WorkerProcess[]]);
  }

  /** Waits until all records are committed; their outputs are committed with them. */
  async #untilCommitted(records: number): Promise<void> {
    await eventually(
      async () => {
        const offsets = await this.#admin.groupOffsets(this.#groupId, [this.#source]);
        return offsets.reduce((sum, { offset }) => sum + offset, 0) >= records;
      },
      {
        description: `${records} inputs to be transformed`,
        timeoutMs: CATCH_UP_TIMEOUT_MS,
        intervalMs: 200,
      },
    );
  }

  /** Values that a read_committed consumer sees. */
  async #read(topic: string): Promise<string[]> {
    const values: string[] = [];
    for (const { partition } of await this.#admin.watermarks(topic)) {
      const all = this.#admin.readRange(topic, partition, 0, Number.MAX_SAFE_INTEGER);
      for await (const { key, value } of all) values.push(`${String(key)}/${String(value)}`);
    }
    return values;
  }
}
