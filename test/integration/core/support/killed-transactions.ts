import { join } from 'node:path';
import type { AdminSession, BrokerDriver, ProducerSession } from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { eventually, unique } from '@nest-event-bus/testing';
import { Child } from './children/child-process.js';

export interface KilledTransactionsSettings {
  readonly brokers: readonly string[];
  /** Minimum number of records. They are written between the kills. */
  readonly records: number;
  readonly kills: number;
  readonly random: { between(least: number, most: number): number };
}

export interface KilledTransactionsReport {
  readonly written: number;
  readonly perKill: number;
  /** Number of committed records at each kill. */
  readonly interrupted: readonly number[];
  /** Confirmations that a read_committed consumer sees in each of the two partitions. */
  readonly confirmed: readonly (readonly number[])[];
}

const PROGRAM = join(__dirname, 'children/transactional-orders.ts');
const PARTITIONS = 3;
const CONFIRMATIONS = [0, 1] as const;
const PREFIXES = ['one-', 'two-'] as const;
const CATCH_UP_TIMEOUT_MS = 180_000;

/**
 * Two processes that confirm each order in a transaction. One of them is killed again and again.
 */
export class KilledTransactions {
  readonly #driver: BrokerDriver;
  readonly #admin: AdminSession;
  readonly #producer: ProducerSession;
  readonly #topics = { topic: unique('orders'), confirmations: unique('confirmations') };
  readonly #groupId = unique('shop');
  readonly #children: Child[] = [];

  constructor(private readonly settings: KilledTransactionsSettings) {
    this.#driver = kafkajs({ brokers: settings.brokers });
    this.#admin = this.#driver.admin();
    this.#producer = this.#driver.producer();
  }

  async run(): Promise<KilledTransactionsReport> {
    try {
      return await this.#run();
    } finally {
      for (const child of this.#children) child.kill();
      await Promise.all(this.#children.map(({ ended }) => ended));
      await this.#driver.close();
    }
  }

  async #run(): Promise<KilledTransactionsReport> {
    const { records, kills, random } = this.settings;
    const perKill = Math.ceil(records / kills);
    const written = perKill * kills;
    await this.#admin.createTopics([
      { name: this.#topics.topic, partitions: PARTITIONS },
      { name: this.#topics.confirmations, partitions: CONFIRMATIONS.length },
    ]);
    const alive = new Map<string, Child>(PREFIXES.map((prefix) => [prefix, this.#start(prefix)]));
    const interrupted: number[] = [];
    for (let kill = 0; kill < kills; kill++) {
      const prefix = PREFIXES[kill % PREFIXES.length]!;
      // The process has started before the records are written. Otherwise, on a busy machine, the
      // other process handles them all meanwhile, and the kill interrupts nothing.
      await alive.get(prefix)?.hasPrinted('started');
      await this.#write(kill * perKill, perKill);
      const more = random.between(1, Math.ceil(perKill / 2));
      interrupted.push(await this.#hasCommitted(more, (kill + 1) * perKill));
      alive.get(prefix)?.kill();
      await alive.get(prefix)?.ended;
      alive.set(prefix, this.#start(prefix));
    }
    await this.#settles(written);
    // Waits until both processes have started, because a duplicate may become visible late.
    await Promise.all([...alive.values()].map((child) => child.hasPrinted('started')));
    await sleep(realRuntime, 1_000);
    const confirmed = await Promise.all(CONFIRMATIONS.map((each) => this.#confirmed(each)));
    return { written, perKill, interrupted, confirmed };
  }

  #start(idPrefix: string): Child {
    const { brokers } = this.settings;
    const settings = { brokers, ...this.#topics, groupId: this.#groupId, idPrefix };
    const child = new Child(PROGRAM, { args: [JSON.stringify(settings)] });
    this.#children.push(child);
    return child;
  }

  #write(from: number, count: number): Promise<unknown> {
    return this.#producer.send(
      Array.from({ length: count }, (_, index) => ({
        topic: this.#topics.topic,
        partition: index % PARTITIONS,
        value: String(from + index),
      })),
    );
  }

  /**
   * Waits until this many more records are committed, or all that were written. Returns the number
   * of committed records.
   */
  async #hasCommitted(more: number, written: number): Promise<number> {
    const enough = Math.min((await this.#committed()) + more, written);
    let committed = 0;
    await eventually(async () => (committed = await this.#committed()) >= enough, {
      description: `${enough} orders to be committed`,
      timeoutMs: CATCH_UP_TIMEOUT_MS,
    });
    return committed;
  }

  async #settles(written: number): Promise<void> {
    const waiting = { timeoutMs: CATCH_UP_TIMEOUT_MS, intervalMs: 1_000 };
    await eventually(async () => (await this.#committed()) === written, {
      description: 'all orders to be committed',
      ...waiting,
    });
    // Waits for all confirmations: the open transaction of a killed process hides later records
    // until its successor has aborted it.
    for (const partition of CONFIRMATIONS)
      await eventually(async () => (await this.#confirmed(partition)).length >= written, {
        description: 'all confirmations to be readable',
        ...waiting,
      });
  }

  async #committed(): Promise<number> {
    const offsets = await this.#admin.groupOffsets(this.#groupId);
    return offsets.reduce((sum, { offset }) => sum + Math.max(0, offset), 0);
  }

  async #confirmed(partition: number): Promise<readonly number[]> {
    const { confirmations } = this.#topics;
    const values: number[] = [];
    const marks = await this.#admin.watermarks(confirmations);
    const { low, high } = marks[partition]!;
    for await (const { value } of this.#admin.readRange(confirmations, partition, low, high))
      values.push(Number(value));
    return values;
  }
}

/** Expects exactly one confirmation of each input in each partition. */
export function expectExactlyOnce(report: KilledTransactionsReport): void {
  const { written, perKill, interrupted, confirmed } = report;
  const inputs = Array.from({ length: written }, (_, number) => number);
  for (const values of confirmed)
    expect(values.toSorted((one, other) => one - other)).toEqual(inputs);
  // At least one kill must interrupt an open transaction, because other kills would prove nothing.
  expect(interrupted.some((count) => count > 0 && count % perKill !== 0)).toBe(true);
}
