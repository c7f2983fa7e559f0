import { join } from 'node:path';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import type { DltRecord } from '@nest-event-bus/core';
import { Child } from './children/child-process.js';
import { OrdersTestBus } from './orders-test-bus.js';

export interface KilledOrdersSettings {
  readonly brokers: readonly string[];
  /** Minimum number of records. They are written between the kills. */
  readonly records: number;
  readonly kills: number;
  /** Longest time between two kills. */
  readonly longestPauseMs: number;
  /** Session timeout. Default 1.5 s. */
  readonly sessionTimeoutMs?: number;
  readonly random: { between(least: number, most: number): number };
}

export interface KilledOrdersReport {
  readonly written: number;
  readonly kills: number;
  readonly calls: number;
  readonly letters: readonly DltRecord[];
}

const PROGRAM = join(__dirname, 'children/failing-orders.ts');
const PARTITIONS = 3;
const TIERS = 2;
const PROCESSES = 3;
const CATCH_UP_TIMEOUT_MS = 180_000;
const STALLED_AFTER_MS = 120_000;
const CHECK_EVERY_MS = 500;

const retry = {
  tier0: { maxAttempts: 2, initialBackoffMs: 10 },
  tiers: [
    { delayMs: 100, maxAttempts: 2 },
    { delayMs: 200, maxAttempts: 2 },
  ],
};
/**
 * Calls of one record without a kill: two in each of five deliveries. A call that a kill interrupts
 * is repeated.
 */
export const CALLS_WITHOUT_KILL = 10;

/**
 * Orders that always fail. Processes are killed at random times and replaced, until all orders are
 * dead-lettered.
 */
export class KilledOrders {
  readonly #testBus: OrdersTestBus;
  readonly #all: Child[] = [];
  readonly #running: Child[] = [];

  constructor(private readonly settings: KilledOrdersSettings) {
    this.#testBus = new OrdersTestBus(settings.brokers);
  }

  async run(): Promise<KilledOrdersReport> {
    try {
      return await this.#run();
    } finally {
      for (const child of this.#running) child.kill();
      await Promise.all(this.#all.map(({ ended }) => ended));
      await this.#testBus.end();
    }
  }

  async #run(): Promise<KilledOrdersReport> {
    const { records, kills, longestPauseMs: mostQuietMs, random } = this.settings;
    await this.#testBus.createTopics({ tiers: TIERS, partitions: PARTITIONS });
    while (this.#running.length < PROCESSES) this.#startOne();
    const perKill = Math.ceil(records / kills);
    for (let kill = 0; kill < kills; kill++) {
      const numbers = Array.from({ length: perKill }, (_, index) => kill * perKill + index);
      // Records are written after the process has joined its groups, because a kill before that
      // would prove nothing.
      await this.#running[0]?.hasPrinted('joined');
      await this.#write(numbers);
      await sleep(realRuntime, random.between(0, mostQuietMs));
      await this.#killOne();
    }
    const written = kills * perKill;
    await this.#allDeadLettered(written);
    await this.#allCommitted();
    return {
      written,
      kills,
      calls: this.#calls(),
      letters: await this.#testBus.letters(),
    };
  }

  async #write(numbers: readonly number[]): Promise<void> {
    for (let partition = 0; partition < PARTITIONS; partition++) {
      const own = numbers.filter((number) => number % PARTITIONS === partition);
      if (own.length > 0) await this.#testBus.writeTo(partition, ...own.map(String));
    }
  }

  #startOne(): void {
    const { topic, groupId } = this.#testBus;
    const { sessionTimeoutMs = 3_000 } = this.settings;
    const session = { sessionTimeoutMs, heartbeatIntervalMs: 300, pollTimeoutMs: 250 };
    const binding = { topic, groupId, retry, ...session };
    const settings = JSON.stringify({ brokers: this.settings.brokers, binding });
    const child = new Child(PROGRAM, { args: [settings] });
    this.#all.push(child);
    this.#running.push(child);
  }

  /** Kills the oldest process. */
  async #killOne(): Promise<void> {
    const child = this.#running.shift();
    child?.kill();
    await child?.ended;
    this.#startOne();
  }

  #calls(): number {
    return this.#all.reduce((sum, { stdout }) => sum + stdout.split('called').length - 1, 0);
  }

  /**
   * Waits until all records are dead-lettered. It gives up when the number of calls no longer
   * grows, because the total time depends on the machine.
   */
  async #allDeadLettered(written: number): Promise<void> {
    let seen = { count: 0, calls: 0, at: realRuntime.monotonic() };
    for (;;) {
      const values = (await this.#testBus.letters()).map(({ value }) => String(value));
      const count = new Set(values).size;
      if (count === written) return;
      const [calls, now] = [this.#calls(), realRuntime.monotonic()];
      if (count > seen.count || calls > seen.calls) seen = { count, calls, at: now };
      if (now - seen.at > STALLED_AFTER_MS)
        throw new Error(
          `Only ${count} of ${written} records are dead-lettered, and no call was made for a while.`,
        );
      await sleep(realRuntime, CHECK_EVERY_MS);
    }
  }

  /** Waits until every group has committed all records of its topic. */
  async #allCommitted(): Promise<void> {
    const { topic, groupId } = this.#testBus;
    const places = [[groupId, topic] as const].concat(
      Array.from({ length: TIERS }, (_, index) => {
        const tier = index + 1;
        return [`${groupId}.retry-${tier}`, this.#testBus.retryTopic(tier)] as const;
      }),
    );
    for (const [group, name] of places)
      await this.#testBus.until(
        `all of ${name} to be committed`,
        () => this.#isCommitted(group, name),
        CATCH_UP_TIMEOUT_MS,
      );
  }

  /**
   * Returns true if all records are committed. Otherwise throws an error with the committed
   * offsets.
   */
  async #isCommitted(groupId: string, topic: string): Promise<true> {
    const { admin } = this.#testBus;
    const offsets = await admin.groupOffsets(groupId);
    const marks = await admin.watermarks(topic);
    const next = (of: number) => offsets.find(({ partition }) => partition === of)?.offset ?? 0;
    if (marks.every(({ partition, high }) => next(partition) === high)) return true;
    const { state, members } = await admin.describeGroup(groupId);
    const committed = marks
      .map(({ partition, high }) => `${next(partition)} of ${high}`)
      .join(', ');
    const processes = this.#running.map(({ stderr }) => stderr.trimEnd().split('\n').at(-1));
    throw new Error(
      `${groupId}, ${state} with ${members.length} members, has committed ${committed}. The processes: ${processes.join(' ')}`,
    );
  }
}

/** Expects that no record is lost, and that the counters of each dead letter are consistent. */
export function expectNoneLost({ written, letters, calls }: KilledOrdersReport): void {
  const values = new Set(letters.map(({ value }) => Number(value)));
  expect([...values].toSorted((one, other) => one - other)).toEqual(
    Array.from({ length: written }, (_, number) => number),
  );
  for (const letter of letters) {
    const inTiers = letter.tierHistory.map(({ attempts }) => attempts);
    expect(letter.tierHistory.map(({ tier }) => tier)).toEqual([0, 1, 2]);
    expect(inTiers.reduce((sum, attempts) => sum + attempts, 0)).toBe(letter.totalAttempts);
    expect(letter.totalAttempts).toBeGreaterThanOrEqual(CALLS_WITHOUT_KILL);
    expect(letter.dltCause).toBe('exhausted');
  }
  expect(calls).toBeGreaterThanOrEqual(written * CALLS_WITHOUT_KILL);
}
