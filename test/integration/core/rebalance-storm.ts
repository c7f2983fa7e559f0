import type { AssignorName } from '@nest-event-bus/broker';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import type { EventContext, EventRecord } from '@nest-event-bus/core';
import { OrdersStage, type Properties } from './orders-stage.js';
import { StormLedger } from './storm-ledger.js';
import { Standstill } from './standstill.js';
import { DRAIN_MS, StormMember } from './storm-member.js';

export interface RebalanceStormSettings {
  readonly brokers: readonly string[];
  readonly by: 'partition' | 'key' | 'slice';
  /** Left out: as it is by default. */
  readonly assignmentStrategy?: AssignorName;
  readonly lastsMs: number;
  /** Between a member that comes or goes and the next one. */
  readonly everyMs: number;
  readonly random: { between(least: number, most: number): number };
}

export interface RebalanceStormReport {
  readonly written: number;
  readonly came: number;
  readonly went: number;
  /** Of the partitions together, how often one was taken from a member. */
  readonly revocations: number;
  readonly lost: number;
  /** Of all those revocations. */
  readonly inFlight: number;
  readonly again: number;
  readonly lateCompletions: number;
  readonly failures: number;
  /** How long it took, after the storm, until everything was done and committed. */
  readonly calmAfterMs: number;
  /** Meanwhile, how long a partition with something to do got nothing done, at most. */
  readonly longestStillMs: number;
  readonly broken: readonly string[];
}

const PARTITIONS = 12;
const KEYS = 60;
const FEWEST = 2;
const MOST = 5;
const LONGEST_WORK_MS = 500;
/** Of a slice of one record: after a failure they come one by one, and would never catch up. */
const LONGEST_ALONE_MS = 100;
const MOST_IN_SLICE = 20;
const WRITE_EVERY_MS = 250;
const PER_WRITE = 12;
/** One in so many fails when it is called first, and once more. */
const FAILS = 10;
const FAILED_CALLS = 2;
/** By partition there is more to do than handlers do meanwhile. */
const PATIENCE_MS = 300_000;
/** The last members hand their partitions back, and each of the records may be called three times. */
const STILL_MS = 15_000;

const binding = {
  retry: { tiers: [], tier0: { maxAttempts: 5, initialBackoffMs: 200, maxBackoffMs: 1_000 } },
  rebalance: { drainTimeoutMs: DRAIN_MS },
  sessionTimeoutMs: '6s',
  heartbeatIntervalMs: '300ms',
  pollTimeoutMs: '250ms',
} as const;

function shapeOf(by: RebalanceStormSettings['by']): Properties {
  switch (by) {
    case 'partition':
      return { processing: { by } };
    case 'key':
      return { processing: { by, maxConcurrency: 16 } };
    case 'slice':
      // None is dead-lettered: all are to be done.
      return { listenerType: 'BATCH', maxPollRecords: MOST_IN_SLICE, batchRedeliveries: 100 };
  }
}

/** Members that come and go while records are written, some of which fail at first, and handlers take their time. */
export class RebalanceStorm {
  readonly #stage: OrdersStage;
  readonly #ledger = new StormLedger(PARTITIONS);
  readonly #members: StormMember[] = [];
  readonly #leaving: Promise<void>[] = [];
  #came = 0;
  readonly #over = new AbortController();

  constructor(private readonly settings: RebalanceStormSettings) {
    this.#stage = new OrdersStage(settings.brokers);
  }

  async run(): Promise<RebalanceStormReport> {
    try {
      return await this.#run();
    } finally {
      this.#over.abort();
      while (this.#members.length > 0) this.#goes(0);
      await Promise.all(this.#leaving);
      await this.#stage.end();
    }
  }

  async #run(): Promise<RebalanceStormReport> {
    const { lastsMs, everyMs } = this.settings;
    await this.#stage.createTopics({ partitions: PARTITIONS });
    const writing = this.#writeOn();
    const endsAt = realRuntime.monotonic() + lastsMs;
    for (let count = 0; count < FEWEST; count++) await this.#comes();
    while (realRuntime.monotonic() < endsAt) {
      await this.#change();
      await sleep(realRuntime, everyMs);
    }
    this.#over.abort();
    await writing;
    const since = realRuntime.monotonic();
    // None may be frozen, so each gets another one.
    await this.#write(Array.from({ length: PARTITIONS }, (_, partition) => partition));
    const standstill = new Standstill(this.#ledger, PARTITIONS);
    await this.#stage.until(
      'the storm to be over',
      () => {
        standstill.look();
        return this.#isCalm();
      },
      PATIENCE_MS,
    );
    return this.#report(realRuntime.monotonic() - since, standstill.longestMs);
  }

  async #change(): Promise<void> {
    const { length } = this.#members;
    const mayCome = length < MOST;
    const mayGo = length > FEWEST;
    const comes = mayCome && (!mayGo || this.settings.random.between(0, 1) === 0);
    if (comes) await this.#comes();
    else this.#goes(this.settings.random.between(0, length - 1));
  }

  /** It is on its way into the group when this ends. */
  async #comes(): Promise<void> {
    const { brokers, by, assignmentStrategy } = this.settings;
    const { topic, groupId } = this.#stage;
    const member = new StormMember({
      brokers,
      ledger: this.#ledger,
      binding: {
        topic,
        groupId,
        ...binding,
        ...shapeOf(by),
        ...(assignmentStrategy && { assignmentStrategy }),
      },
      takesSlices: by === 'slice',
      work: (records, contexts) => this.#work(records, contexts),
    });
    this.#came++;
    this.#members.push(member);
    await member.start();
  }

  #goes(index: number): void {
    const [member] = this.#members.splice(index, 1);
    if (member) this.#leaving.push(member.leave());
  }

  /** Whatever is aborted meanwhile: handlers of applications do not always listen. */
  async #work(
    records: readonly EventRecord[],
    contexts: readonly EventContext[],
  ): Promise<number | undefined> {
    const { by, random } = this.settings;
    const isAlone = by === 'slice' && records.length === 1;
    await sleep(realRuntime, random.between(0, isAlone ? LONGEST_ALONE_MS : LONGEST_WORK_MS));
    const failed = records.findIndex(({ offset }, index) => {
      const { call = 1, total = 1 } = contexts[index]?.attempt ?? {};
      // Each call for a slice is a delivery of its own.
      const calls = by === 'slice' ? total : call;
      return Number(offset) % FAILS === 0 && calls <= FAILED_CALLS;
    });
    return failed === -1 ? undefined : failed;
  }

  async #writeOn(): Promise<void> {
    for (let turn = 0; !this.#over.signal.aborted; turn++) {
      await this.#write(
        Array.from({ length: PER_WRITE }, (_, index) => (turn * PER_WRITE + index) % KEYS),
      );
      await sleep(realRuntime, WRITE_EVERY_MS);
    }
  }

  async #write(keys: readonly number[]): Promise<void> {
    for (const number of keys) {
      const [partition, key] = [number % PARTITIONS, `key-${number}`];
      this.#ledger.write(partition, key);
      await this.#stage.writeKeysTo(partition, [key]);
    }
  }

  /** Throws with what is there instead. */
  async #isCalm(): Promise<true> {
    const { admin, groupId } = this.#stage;
    const offsets = await admin.groupOffsets(groupId);
    const stands = Array.from({ length: PARTITIONS }, (_, partition) => {
      const committed = offsets.find((each) => each.partition === partition)?.offset ?? 0;
      return { committed, done: this.#ledger.lows[partition], end: this.#ledger.end(partition) };
    });
    if (stands.every(({ committed, end }) => committed === end)) return true;
    const { state, members } = await admin.describeGroup(groupId);
    throw new Error(
      `The group, ${state} with ${members.length} members of ${this.#members.length}, stands at ${JSON.stringify(stands)}: ${this.#members.map((member) => member.describe()).join()}`,
    );
  }

  #report(calmAfterMs: number, longestStillMs: number): RebalanceStormReport {
    const { tenures, written, broken, lateCompletions, failures } = this.#ledger;
    const over = tenures.filter(({ isOver }) => isOver);
    return {
      written,
      came: this.#came,
      went: this.#leaving.length,
      revocations: over.length,
      lost: over.filter(({ isLost }) => isLost).length,
      inFlight: over.reduce((sum, { inFlight }) => sum + inFlight.size, 0),
      again: over.reduce((sum, { again }) => sum + again, 0),
      lateCompletions,
      failures,
      calmAfterMs,
      longestStillMs,
      broken,
    };
  }
}

/** None lost, or the run itself would have failed. */
export function expectPromisesKept(report: RebalanceStormReport): void {
  const { broken, revocations, failures, longestStillMs } = report;
  expect(broken).toEqual([]);
  // What took longer than this had nothing to do with its own handlers and their retries.
  expect(longestStillMs).toBeLessThan(STILL_MS);
  // A storm in which nobody lost anything would prove nothing.
  expect(revocations).toBeGreaterThan(0);
  expect(failures).toBeGreaterThan(0);
}

export function tellStorm(name: string, report: RebalanceStormReport): string {
  const { written, came, went, revocations, lost, inFlight, again, calmAfterMs, longestStillMs } =
    report;
  return `${name}: ${written} records, ${came} members came and ${went} went, ${revocations} partitions moved (${lost} lost), ${again} records came again of ${inFlight} in flight, ${report.lateCompletions} ended too late, ${report.failures} failures, calm after ${Math.round(calmAfterMs)} ms with no partition still for more than ${Math.round(longestStillMs)} ms`;
}
