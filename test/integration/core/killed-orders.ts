import { join } from 'node:path';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import type { DltRecord } from '@nest-event-bus/core';
import { Child } from './children/child-process.js';
import { OrdersStage } from './orders-stage.js';

export interface KilledOrdersSettings {
  readonly brokers: readonly string[];
  /** At least so many; they are written between the kills. */
  readonly records: number;
  readonly kills: number;
  /** The longest time between two kills. */
  readonly mostQuietMs: number;
  /** Default 1.5 s. */
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
const PATIENCE_MS = 60_000;
const STANDSTILL_MS = 30_000;
const LOOK_AGAIN_MS = 500;

const retry = {
  tier0: { maxAttempts: 2, initialBackoffMs: 10 },
  tiers: [
    { delayMs: 100, maxAttempts: 2 },
    { delayMs: 200, maxAttempts: 2 },
  ],
};
/** Two in each of five deliveries. What a kill interrupts is called again. */
export const CALLS_IN_PEACE = 10;

/**
 * Orders that fail always, in processes of which one after another is killed at any moment and
 * replaced, until all orders are dead-lettered.
 */
export class KilledOrders {
  readonly #stage: OrdersStage;
  readonly #all: Child[] = [];
  readonly #alive: Child[] = [];

  constructor(private readonly settings: KilledOrdersSettings) {
    this.#stage = new OrdersStage(settings.brokers);
  }

  async run(): Promise<KilledOrdersReport> {
    try {
      return await this.#run();
    } finally {
      for (const child of this.#alive) child.kill();
      await Promise.all(this.#all.map(({ ended }) => ended));
      await this.#stage.end();
    }
  }

  async #run(): Promise<KilledOrdersReport> {
    const { records, kills, mostQuietMs, random } = this.settings;
    await this.#stage.createTopics({ tiers: TIERS, partitions: PARTITIONS });
    while (this.#alive.length < PROCESSES) this.#startOne();
    const perKill = Math.ceil(records / kills);
    for (let kill = 0; kill < kills; kill++) {
      const numbers = Array.from({ length: perKill }, (_, index) => kill * perKill + index);
      // A process that has not yet come to work would prove nothing.
      await this.#alive[0]?.hasSaid('joined');
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
      letters: await this.#stage.letters(),
    };
  }

  async #write(numbers: readonly number[]): Promise<void> {
    for (let partition = 0; partition < PARTITIONS; partition++) {
      const own = numbers.filter((number) => number % PARTITIONS === partition);
      if (own.length > 0) await this.#stage.writeTo(partition, ...own.map(String));
    }
  }

  #startOne(): void {
    const { topic, groupId } = this.#stage;
    const { sessionTimeoutMs = 1_500 } = this.settings;
    const session = { sessionTimeoutMs, heartbeatIntervalMs: 300, pollTimeoutMs: 250 };
    const binding = { topic, groupId, retry, ...session };
    const settings = JSON.stringify({ brokers: this.settings.brokers, binding });
    const child = new Child(PROGRAM, { args: [settings] });
    this.#all.push(child);
    this.#alive.push(child);
  }

  /** The oldest. */
  async #killOne(): Promise<void> {
    const child = this.#alive.shift();
    child?.kill();
    await child?.ended;
    this.#startOne();
  }

  #calls(): number {
    return this.#all.reduce((sum, { stdout }) => sum + stdout.split('called').length - 1, 0);
  }

  /** For as long as anything goes on: how long it takes depends on the machine. */
  async #allDeadLettered(written: number): Promise<void> {
    let seen = { count: 0, calls: 0, at: realRuntime.monotonic() };
    for (;;) {
      const values = (await this.#stage.letters()).map(({ value }) => String(value));
      const count = new Set(values).size;
      if (count === written) return;
      const [calls, now] = [this.#calls(), realRuntime.monotonic()];
      if (count > seen.count || calls > seen.calls) seen = { count, calls, at: now };
      if (now - seen.at > STANDSTILL_MS)
        throw new Error(
          `Only ${count} of ${written} records are dead-lettered, and nothing happens.`,
        );
      await sleep(realRuntime, LOOK_AGAIN_MS);
    }
  }

  /** No record anywhere is left for anybody. */
  async #allCommitted(): Promise<void> {
    const { topic, groupId } = this.#stage;
    const places = [[groupId, topic] as const].concat(
      Array.from({ length: TIERS }, (_, index) => {
        const tier = index + 1;
        return [`${groupId}.retry-${tier}`, this.#stage.retryTopic(tier)] as const;
      }),
    );
    for (const [group, name] of places)
      await this.#stage.until(
        `all of ${name} to be committed`,
        () => this.#isCommitted(group, name),
        PATIENCE_MS,
      );
  }

  /** Throws with what is there instead. */
  async #isCommitted(groupId: string, topic: string): Promise<true> {
    const { admin } = this.#stage;
    const offsets = await admin.groupOffsets(groupId);
    const marks = await admin.watermarks(topic);
    const next = (of: number) => offsets.find(({ partition }) => partition === of)?.offset ?? 0;
    if (marks.every(({ partition, high }) => next(partition) === high)) return true;
    const { state, members } = await admin.describeGroup(groupId);
    const stand = marks.map(({ partition, high }) => `${next(partition)} of ${high}`).join(', ');
    const processes = this.#alive.map(({ stderr }) => stderr.trimEnd().split('\n').at(-1));
    throw new Error(
      `${groupId}, ${state} with ${members.length} members, has committed ${stand}. The processes: ${processes.join(' ')}`,
    );
  }
}

/** None is lost, and what each letter says of itself is consistent. */
export function expectNoneLost({ written, letters, calls }: KilledOrdersReport): void {
  const values = new Set(letters.map(({ value }) => Number(value)));
  expect([...values].toSorted((one, other) => one - other)).toEqual(
    Array.from({ length: written }, (_, number) => number),
  );
  for (const letter of letters) {
    const inTiers = letter.tierHistory.map(({ attempts }) => attempts);
    expect(letter.tierHistory.map(({ tier }) => tier)).toEqual([0, 1, 2]);
    expect(inTiers.reduce((sum, attempts) => sum + attempts, 0)).toBe(letter.totalAttempts);
    expect(letter.totalAttempts).toBeGreaterThanOrEqual(CALLS_IN_PEACE);
    expect(letter.dltCause).toBe('exhausted');
  }
  expect(calls).toBeGreaterThanOrEqual(written * CALLS_IN_PEACE);
}
