import type { AssignorName } from '@nest-event-bus/broker';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import type { EventContext, EventRecord } from '@nest-event-bus/core';
import { OrdersTestBus, type Properties } from './orders-test-bus.js';
import { DeliveryAudit } from './delivery-audit.js';
import { ProgressWatch } from './progress-watch.js';
import { DRAIN_MS, StormMember } from './storm-member.js';

export interface RebalanceStormSettings {
  readonly brokers: readonly string[];
  readonly by: 'partition' | 'key' | 'slice';
  /** Assignment strategy of the group. If absent, the default of the bus is used. */
  readonly assignmentStrategy?: AssignorName;
  readonly lastsMs: number;
  /** Time between two membership changes. */
  readonly everyMs: number;
  readonly random: { between(least: number, most: number): number };
}

export interface RebalanceStormReport {
  readonly written: number;
  readonly joined: number;
  readonly left: number;
  /** Number of partitions that were revoked from members, over the whole storm. */
  readonly revocations: number;
  readonly lost: number;
  /** Records that were in flight when their partition was revoked. */
  readonly inFlight: number;
  readonly redelivered: number;
  readonly lateCompletions: number;
  readonly failures: number;
  /** Time from the end of the storm until every record was finished and committed. */
  readonly caughtUpAfterMs: number;
  /** Longest time without progress of a partition that had records to handle. */
  readonly longestStallMs: number;
  readonly violations: readonly string[];
}

const PARTITIONS = 12;
const KEYS = 60;
const FEWEST = 2;
const MOST = 5;
const LONGEST_WORK_MS = 500;
/**
 * Time limit of a call with one record. After a failure the records of a slice are handled one by
 * one, and slower calls would never catch up.
 */
const LONGEST_SINGLE_CALL_MS = 100;
const MOST_IN_SLICE = 20;
const WRITE_EVERY_MS = 250;
const PER_WRITE = 12;
/** One of this many records fails at its first two calls. */
const FAILURE_EVERY = 10;
const FAILED_CALLS = 2;
/**
 * Time limit for the end. The backlog grows with processing by partition, so the end takes long.
 */
const CATCH_UP_TIMEOUT_MS = 300_000;
/**
 * Time limit for one stall: the last members hand over their partitions, and each record has three
 * calls.
 */
const LONGEST_STALL_MS = 60_000;

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
      // The number of redeliveries is high, because no record may be dead-lettered: all records
      // must be handled.
      return { listenerType: 'BATCH', maxPollRecords: MOST_IN_SLICE, batchRedeliveries: 100 };
  }
}

/** Members that join and leave while records are written. Handlers are slow, and some calls fail. */
export class RebalanceStorm {
  readonly #testBus: OrdersTestBus;
  readonly #audit = new DeliveryAudit(PARTITIONS);
  readonly #members: StormMember[] = [];
  readonly #leaving: Promise<void>[] = [];
  #joinedCount = 0;
  readonly #writing = new AbortController();

  constructor(private readonly settings: RebalanceStormSettings) {
    this.#testBus = new OrdersTestBus(settings.brokers);
  }

  async run(): Promise<RebalanceStormReport> {
    try {
      return await this.#run();
    } finally {
      this.#writing.abort();
      while (this.#members.length > 0) this.#leave(0);
      await Promise.all(this.#leaving);
      await this.#testBus.end();
    }
  }

  async #run(): Promise<RebalanceStormReport> {
    const { lastsMs, everyMs } = this.settings;
    await this.#testBus.createTopics({ partitions: PARTITIONS });
    const writing = this.#writeOn();
    const endsAt = realRuntime.monotonic() + lastsMs;
    for (let count = 0; count < FEWEST; count++) await this.#join();
    while (realRuntime.monotonic() < endsAt) {
      await this.#change();
      await sleep(realRuntime, everyMs);
    }
    this.#writing.abort();
    await writing;
    const since = realRuntime.monotonic();
    // Writes another record to each partition, to show that it still progresses.
    await this.#write(Array.from({ length: PARTITIONS }, (_, partition) => partition));
    const progress = new ProgressWatch(this.#audit, PARTITIONS);
    await this.#testBus.until(
      'all records to be committed',
      () => {
        progress.check();
        return this.#hasCaughtUp();
      },
      CATCH_UP_TIMEOUT_MS,
    );
    return this.#report(realRuntime.monotonic() - since, progress.longestMs);
  }

  async #change(): Promise<void> {
    const { length } = this.#members;
    const mayJoin = length < MOST;
    const mayLeave = length > FEWEST;
    const joins = mayJoin && (!mayLeave || this.settings.random.between(0, 1) === 0);
    if (joins) await this.#join();
    else this.#leave(this.settings.random.between(0, length - 1));
  }

  /** Adds a member. When the call returns, the member may still be joining its group. */
  async #join(): Promise<void> {
    const { brokers, by, assignmentStrategy } = this.settings;
    const { topic, groupId } = this.#testBus;
    const member = new StormMember({
      brokers,
      audit: this.#audit,
      binding: {
        topic,
        groupId,
        ...binding,
        ...shapeOf(by),
        ...(assignmentStrategy && { assignmentStrategy }),
      },
      takesSlices: by === 'slice',
      handle: (records, contexts) => this.#handle(records, contexts),
    });
    this.#joinedCount++;
    this.#members.push(member);
    await member.start();
  }

  #leave(index: number): void {
    const [member] = this.#members.splice(index, 1);
    if (member) this.#leaving.push(member.leave());
  }

  /**
   * Handles a slice or a record. It runs to its end even if the signal is aborted, as many handlers
   * do.
   */
  async #handle(
    records: readonly EventRecord[],
    contexts: readonly EventContext[],
  ): Promise<number | undefined> {
    const { by, random } = this.settings;
    const isSingleRecord = by === 'slice' && records.length === 1;
    await sleep(
      realRuntime,
      random.between(0, isSingleRecord ? LONGEST_SINGLE_CALL_MS : LONGEST_WORK_MS),
    );
    const failed = records.findIndex(({ offset }, index) => {
      const { call = 1, total = 1 } = contexts[index]?.attempt ?? {};
      // Each call for a slice is a new delivery, so the total number of calls decides.
      const calls = by === 'slice' ? total : call;
      return Number(offset) % FAILURE_EVERY === 0 && calls <= FAILED_CALLS;
    });
    return failed === -1 ? undefined : failed;
  }

  async #writeOn(): Promise<void> {
    for (let round = 0; !this.#writing.signal.aborted; round++) {
      await this.#write(
        Array.from({ length: PER_WRITE }, (_, index) => (round * PER_WRITE + index) % KEYS),
      );
      await sleep(realRuntime, WRITE_EVERY_MS);
    }
  }

  async #write(keys: readonly number[]): Promise<void> {
    for (const number of keys) {
      const [partition, key] = [number % PARTITIONS, `key-${number}`];
      this.#audit.write(partition, key);
      await this.#testBus.writeKeysTo(partition, [key]);
    }
  }

  /**
   * Returns true if all records are finished and committed. Otherwise throws an error with the
   * state of the group.
   */
  async #hasCaughtUp(): Promise<true> {
    const { admin, groupId } = this.#testBus;
    const offsets = await admin.groupOffsets(groupId);
    const positions = Array.from({ length: PARTITIONS }, (_, partition) => {
      const committed = offsets.find((each) => each.partition === partition)?.offset ?? 0;
      return {
        committed,
        done: this.#audit.completedUpTo[partition],
        end: this.#audit.end(partition),
      };
    });
    if (positions.every(({ committed, end }) => committed === end)) return true;
    const { state, members } = await admin.describeGroup(groupId);
    throw new Error(
      `The group, ${state} with ${members.length} members of ${this.#members.length}, has committed ${JSON.stringify(positions)}: ${this.#members.map((member) => member.describe()).join()}`,
    );
  }

  #report(caughtUpAfterMs: number, longestStallMs: number): RebalanceStormReport {
    const { assignments, written, violations, lateCompletions, failures } = this.#audit;
    const ended = assignments.filter(({ hasEnded }) => hasEnded);
    return {
      written,
      joined: this.#joinedCount,
      left: this.#leaving.length,
      revocations: ended.length,
      lost: ended.filter(({ isLost }) => isLost).length,
      inFlight: ended.reduce((sum, { inFlight }) => sum + inFlight.size, 0),
      redelivered: ended.reduce((sum, { redelivered }) => sum + redelivered, 0),
      lateCompletions,
      failures,
      caughtUpAfterMs,
      longestStallMs,
      violations,
    };
  }
}

/** Expects that the report has no violation. A lost record makes the run itself fail. */
export function expectNoViolation(report: RebalanceStormReport): void {
  const { violations, revocations, failures, longestStallMs } = report;
  expect(violations).toEqual([]);
  // The handlers and their retries cannot cause a longer stall.
  expect(longestStallMs).toBeLessThan(LONGEST_STALL_MS);
  // There must be a revocation, because a storm without one would prove nothing.
  expect(revocations).toBeGreaterThan(0);
  expect(failures).toBeGreaterThan(0);
}

export function printStorm(name: string, report: RebalanceStormReport): string {
  const {
    written,
    joined,
    left,
    revocations,
    lost,
    inFlight,
    redelivered,
    caughtUpAfterMs,
    longestStallMs,
  } = report;
  return `${name}: ${written} records, ${joined} members joined and ${left} left, ${revocations} partitions moved (${lost} lost), ${redelivered} records delivered again of ${inFlight} in flight, ${report.lateCompletions} ended too late, ${report.failures} failures, all committed after ${Math.round(caughtUpAfterMs)} ms with no partition without progress for more than ${Math.round(longestStallMs)} ms`;
}
