import type {
  AssignedPartition,
  AssignmentListener,
  BrokerDriver,
  ConsumerSession,
  OffsetCommit,
  TopicPartition,
} from '@nest-event-bus/broker';
import { memory } from '@nest-event-bus/broker/memory';
import { sleep } from '@nest-event-bus/broker/runtime';
import type { Delivery } from '../../model/outcomes/delivery.js';
import { decodeMetadata, type CommitPosition } from '../commits/commit-metadata-format.js';
import type { Processing } from './consuming-session.js';
import { isFinal, type Outcome, succeeded } from '../../model/outcomes/outcome.js';
import type { BufferLimit } from '../lanes/buffer-limit.js';
import type { PauseReason } from '../pauses/pause-reason.js';
import {
  type SessionUnderTest,
  type ConsumingTestBed,
  reconciles,
  upTo,
} from './consuming-test-bed.spec-support.js';

export const PARTITIONS = 3;
export const RECORDS = 400;
const REASONS = ['operator', 'circuit', 'routing'] as const satisfies readonly PauseReason[];
export const MAX_POLL_MS = 2_000;
/**
 * Limit of all buffered bytes: a few records per partition, or as many as maxPollRecords allows.
 */
export const LITTLE_MEMORY = 25_000;

/**
 * An assignment of a partition to a session, as the driver reports it. Outcomes after its end do
 * not count.
 */
class AssignmentRecord {
  isOver = false;
  readonly #done = new Set<number>();
  /** The first unfinished record. */
  low: number;

  constructor({ partition, position, committed }: AssignedPartition) {
    this.low = position;
    for (const each of beyond({ partition, offset: position }, committed?.metadata ?? null))
      this.finish(each);
  }

  finish(offset: number): void {
    if (this.isOver) return;
    this.#done.add(offset);
    while (this.#done.has(this.low)) this.low++;
  }

  isDone(offset: number): boolean {
    return offset < this.low || this.#done.has(offset);
  }

  /** Returns what is wrong with a commit. */
  complaintAbout({ partition, offset, metadata = null }: OffsetCommit): string | undefined {
    if (offset > this.low) return `commit ${partition}:${offset} passes ${this.low}`;
    const wrong = beyond({ partition, offset }, metadata).find((each) => !this.isDone(each));
    return wrong === undefined ? undefined : `commit ${partition}:${offset} says ${wrong} is done`;
  }
}

/** Content of an acknowledged commit. */
class Recorded {
  readonly #offsets = new Set<number>();
  #committed = 0;

  has(offset: number): boolean {
    return offset < this.#committed || this.#offsets.has(offset);
  }

  add({ partition, offset, metadata = null }: OffsetCommit): void {
    this.#committed = Math.max(this.#committed, offset);
    for (const each of beyond({ partition, offset }, metadata)) this.#offsets.add(each);
  }

  get missing(): number {
    return RECORDS - this.#committed;
  }
}

function beyond(at: CommitPosition, metadata: string | null): readonly number[] {
  const runs = decodeMetadata(at, metadata)?.ranges ?? [];
  return runs.flatMap(({ from, to }) => upTo(to - from, from));
}

export const KEYS = 15;
/** Returns the key of a record in any partition. Some records have none. */
export const keyOf = (offset: number): string | null =>
  offset % 11 === 0 ? null : `${(offset * 7) % KEYS}`;

interface Member extends SessionUnderTest {
  /** Assignments by partition. One that has ended is kept until the next one begins. */
  readonly assignments: Map<number, AssignmentRecord>;
  /** True if the pause is in effect, so that no record may reach a handler. */
  readonly pauses: Map<PauseReason, boolean>;
}

export type Mode = Processing['by'] | 'slices';

export interface Step {
  readonly kind: (typeof STEPS)[number];
  readonly pick: number;
  readonly ms: number;
}

export const STEPS = ['pause', 'resume', 'join', 'leave', 'silence', 'refuse', 'wait'] as const;

/**
 * Members that join, leave, pause, lose their broker and fail at random. Every violation is
 * recorded.
 */
export class RandomHistory {
  readonly broken: string[] = [];
  readonly members: Member[] = [];
  redelivered = 0;
  /** Number of handlers that ended after their assignment. */
  late = 0;
  readonly #recorded = Array.from({ length: PARTITIONS }, () => new Recorded());
  #made = 0;

  constructor(
    readonly testBed: ConsumingTestBed,
    private readonly mode: Mode,
    private readonly bufferLimit: BufferLimit,
  ) {}

  get missing(): number {
    return this.#recorded.reduce((sum, { missing }) => sum + missing, 0);
  }

  add(ackMode: 'MANUAL' | 'MANUAL_IMMEDIATE'): void {
    const clientId = `member-${this.#made++}`;
    const assignments = new Map<number, AssignmentRecord>();
    const by = this.mode === 'slices' ? 'partition' : this.mode;
    const underTest = this.testBed.session(undefined, {
      clientId,
      driver: this.#watching(memory({ broker: this.testBed.broker, clientId }), assignments),
      processor: {
        process: (delivery) => this.#handle(member, delivery),
        ...(this.mode === 'slices' && { processSlice: (slice) => this.#answer(member, slice) }),
      },
      settings: {
        ackMode,
        processing: { by, maxConcurrency: 12 },
        strictCommits: this.#upTo(3) === 0,
        listenerType: by === 'partition' && this.#upTo(3) === 0 ? 'BATCH' : 'SINGLE',
        maxPollRecords: 20,
        maxPollIntervalMs: MAX_POLL_MS,
        rebalanceDrainTimeoutMs: 40,
        failureBackoff: { initialMs: 20, maxMs: 200 },
      },
      bufferLimit: this.bufferLimit,
      consumer: { sessionTimeoutMs: 1_000, heartbeatIntervalMs: 300, rebalanceTimeoutMs: 3_000 },
    });
    const member: Member = { ...underTest, assignments, pauses: new Map() };
    this.members.push(member);
    member.session.start().catch(() => undefined);
  }

  async take({ kind, pick, ms }: Step): Promise<void> {
    const { testBed } = this;
    const index = pick % this.members.length;
    const member = this.members[index] as Member;
    switch (kind) {
      case 'pause':
        this.#pause(member, REASONS[pick % REASONS.length] as PauseReason);
        break;
      case 'resume':
        this.#resume(member);
        break;
      case 'join':
        if (this.members.length < 4) this.add(pick % 2 === 0 ? 'MANUAL' : 'MANUAL_IMMEDIATE');
        break;
      case 'leave':
        if (this.members.length === 1) break;
        this.members.splice(index, 1);
        await testBed.done(member.session.close({ drainMs: ms }));
        this.#check(member);
        break;
      case 'silence': {
        const fault = testBed.broker.faults.dropHeartbeats({ groupId: 'g' });
        await testBed.runtime.advance(5 * ms);
        fault.lift();
        break;
      }
      case 'refuse': {
        const refusal = 'COORDINATOR_LOAD_IN_PROGRESS';
        testBed.broker.faults.refuse({ operation: 'commit' }, refusal, { times: 1 + (pick % 5) });
        break;
      }
      case 'wait':
        break;
    }
    await testBed.runtime.advance(ms);
    for (const each of this.members) this.#check(each);
  }

  resumeAll(): void {
    for (const member of this.members) this.#resume(member);
  }

  #pause({ session, pauses }: Member, reason: PauseReason): void {
    if (!pauses.has(reason)) pauses.set(reason, false);
    void session.pause(reason).then(() => {
      if (pauses.has(reason)) pauses.set(reason, true);
    });
  }

  #resume({ session, pauses }: Member): void {
    pauses.clear();
    for (const each of REASONS) session.resume(each);
  }

  /** Handles some records of the slice, in one call or in several. */
  async #answer(member: Member, slice: readonly Delivery[]): Promise<readonly Outcome[]> {
    const stretch = slice.slice(0, 1 + this.#upTo(slice.length));
    if (this.#upTo(2) === 0) return this.#handleAll(member, stretch);
    const outcomes: Outcome[] = [];
    for (const delivery of stretch) {
      if (outcomes.length > 0 && delivery.waitSignal?.aborted) break;
      outcomes.push(await this.#handle(member, delivery));
      if (!outcomes.every(isFinal)) break;
    }
    return outcomes;
  }

  async #handleAll(member: Member, stretch: readonly Delivery[]): Promise<readonly Outcome[]> {
    const first = stretch[0] as Delivery;
    const assignment = this.#begin(member, first);
    const outcomes = stretch.map(({ record }) => this.#verdict() ?? record.offset);
    if (this.#upTo(4) === 0) await sleep(this.testBed.runtime, this.#upTo(100));
    return outcomes.map((each) =>
      typeof each === 'number' ? this.#finish(assignment, each) : each,
    );
  }

  #handle(member: Member, delivery: Delivery): Outcome | Promise<Outcome> {
    const { offset } = delivery.record;
    const assignment = this.#begin(member, delivery);
    const setback = this.#verdict();
    if (setback) return setback;
    const chance = this.testBed.runtime.random();
    if (chance > 0.05) return this.#finish(assignment, offset);
    const isTooSlow = chance > 0.047;
    const ms = isTooSlow ? MAX_POLL_MS + this.#upTo(4_000) : this.#upTo(chance > 0.03 ? 300 : 20);
    return sleep(this.testBed.runtime, ms).then(() => this.#finish(assignment, offset));
  }

  /** Checks a record that reaches its handler. */
  #begin(member: Member, { record, history, signal, waitSignal }: Delivery): AssignmentRecord {
    const { partition, offset } = record;
    const where = `${partition}:${offset}`;
    const assignment = member.assignments.get(partition);
    if (!assignment || assignment.isOver) throw this.#complain(`${where} came to somebody else`);
    const before = this.#unfinishedBefore(assignment, offset);
    if (before !== undefined) this.#complain(`${where} came before ${before} was done`);
    if (assignment.isDone(offset)) this.#complain(`${where} came again, although it is done`);
    if (this.#recorded[partition]?.has(offset))
      this.#complain(`${where} came again, although it is recorded as done`);
    if ([...member.pauses.values()].includes(true)) this.#complain(`${where} came in a pause`);
    if (signal.aborted || waitSignal?.aborted) this.#complain(`${where} was called off`);
    if (history.redeliveries > 0) this.redelivered++;
    this.#check(member);
    return assignment;
  }

  #complain(what: string): Error {
    this.broken.push(what);
    return new Error(what);
  }

  #verdict(): Outcome | undefined {
    const chance = this.testBed.runtime.random();
    if (chance < 0.01)
      return { kind: 'failed', reason: 'redeliver', attempts: 1, error: new Error('no luck') };
    if (chance < 0.015) return { kind: 'handed-back', delayMs: this.#upTo(50) };
    return undefined;
  }

  /** Returns the first unfinished record that this one has to wait for. */
  #unfinishedBefore(assignment: AssignmentRecord, offset: number): number | undefined {
    const { low } = assignment;
    if (offset <= low || this.mode === 'none') return undefined;
    if (this.mode !== 'key') return low;
    const key = keyOf(offset);
    return upTo(offset - low, low).find((each) => keyOf(each) === key && !assignment.isDone(each));
  }

  #finish(assignment: AssignmentRecord, offset: number): Outcome {
    if (assignment.isOver) this.late++;
    assignment.finish(offset);
    return offset % 7 === 0 ? { kind: 'discarded', reason: 'seventh' } : succeeded;
  }

  #check({ session }: SessionUnderTest): void {
    if (!reconciles(session.counts)) this.#complain(`counts: ${JSON.stringify(session.counts)}`);
  }

  /**
   * Checks that no commit passes a record that was not finished in its assignment, nor marks it as
   * completed.
   */
  #watching(driver: BrokerDriver, assignments: Map<number, AssignmentRecord>): BrokerDriver {
    const of = (partitions: readonly TopicPartition[]): readonly AssignmentRecord[] =>
      partitions.flatMap(({ partition }) => assignments.get(partition) ?? []);
    const listening = (listener: AssignmentListener): AssignmentListener => ({
      onAssigned: (partitions) => {
        for (const each of partitions) {
          assignments.set(each.partition, new AssignmentRecord(each));
          // The answer to the commit may have been lost.
          const metadata = each.committed?.metadata ?? null;
          this.#recorded[each.partition]?.add({ ...each, offset: each.position, metadata });
        }
        return listener.onAssigned(partitions);
      },
      onRevoked: async (partitions) => {
        // Partitions that were lost and assigned again meanwhile have other assignments.
        const revoked = of(partitions);
        await listener.onRevoked(partitions);
        for (const each of revoked) each.isOver = true;
      },
      onLost: (partitions) => {
        for (const each of of(partitions)) each.isOver = true;
        return listener.onLost(partitions);
      },
    });
    const watch = (session: ConsumerSession): ConsumerSession => {
      const start: ConsumerSession['start'] = (listener, signal) =>
        session.start(listening(listener), signal);
      const commit = async (offsets: readonly OffsetCommit[]): Promise<void> => {
        for (const each of offsets) {
          const assignment = assignments.get(each.partition);
          const complaint = assignment
            ? assignment.complaintAbout(each)
            : 'commit without an assignment';
          if (complaint) this.#complain(complaint);
        }
        await session.commit(offsets);
        for (const each of offsets) this.#recorded[each.partition]?.add(each);
      };
      return new Proxy(session, {
        get: (target, key) => {
          if (key === 'commit') return commit;
          if (key === 'start') return start;
          const value: unknown = Reflect.get(target, key, target);
          return typeof value === 'function' ? (value.bind(target) as unknown) : value;
        },
      });
    };
    const consumer: BrokerDriver['consumer'] = (options) => watch(driver.consumer(options));
    return Object.assign(Object.create(driver) as BrokerDriver, { consumer });
  }

  #upTo(limit: number): number {
    return Math.floor(this.testBed.runtime.random() * limit);
  }
}

/** Runs a whole history, from the first record to the last. */
