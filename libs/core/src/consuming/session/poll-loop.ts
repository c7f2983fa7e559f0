import type { BrokerRecord, ConsumerSession, DriverLogger } from '@nest-event-bus/broker';
import { Backoff, type Runtime, sleep } from '@nest-event-bus/broker/runtime';
import { defectContext } from '../../errors/texts/defect-context.js';
import type { SessionTracing } from './consuming-session.js';
import type { PartitionPauser } from '../pauses/partition-pauser.js';
import type { BufferLimit } from '../lanes/buffer-limit.js';
import type { Lanes } from '../lanes/lanes.js';
import type { PartitionLane } from '../lanes/partition-lane.js';

export interface PollLoopParts {
  readonly session: ConsumerSession;
  readonly lanes: Lanes;
  readonly pauser: PartitionPauser;
  readonly bufferLimit: BufferLimit;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
  readonly maxPollRecords: number;
  readonly idleBetweenPollsMs: number;
  readonly tracing?: SessionTracing | undefined;
}

/**
 * Time after which the loop yields. If all handlers return at once, the loop never waits, and
 * heartbeats and timers would not run.
 */
const YIELD_AFTER_MS = 10;
const RETRY = { initialMs: 100, maxMs: 5_000 };
/**
 * Delay after an internal error. The next attempt will probably fail as well, but the partition
 * must not stop for ever.
 */
const INTERNAL_ERROR_BACKOFF_MS = 1_000;

/**
 * Moves records from the consumer session to the lanes of their partitions. A lane whose buffer is
 * full is not fetched.
 */
export class PollLoop {
  readonly #backoff: Backoff;
  #yieldedAt: number;

  constructor(private readonly parts: PollLoopParts) {
    this.#backoff = new Backoff(parts.runtime, RETRY);
    this.#yieldedAt = parts.runtime.monotonic();
  }

  /**
   * Polls until the session ends. Returns the error with which it ended, or the reason of the abort
   * signal.
   */
  async run(signal: AbortSignal): Promise<unknown> {
    const { session, bufferLimit, maxPollRecords, runtime, tracing } = this.parts;
    while (!signal.aborted) {
      try {
        const polledAt = tracing ? runtime.now() : 0;
        const records = await session.poll(maxPollRecords, signal, bufferLimit.bytesPerPartition);
        if (records.length > 0) tracing?.tracer.polled(tracing.container, records, polledAt);
        if (records.length > 0) this.#distribute(records);
        else this.#passOffsetsWithoutRecords();
        await this.#yieldOrSleep(signal);
      } catch (error) {
        if (signal.aborted || this.#isOver) return error;
        await this.#backOff(error as Error, signal);
      }
    }
    return signal.reason;
  }

  get #isOver(): boolean {
    const { state } = this.parts.session.status;
    return state === 'failed' || state === 'closed';
  }

  #distribute(records: readonly BrokerRecord[]): void {
    this.#backoff.reset();
    const receivedAt = this.parts.runtime.now();
    for (let from = 0; from < records.length;) {
      const { topic, partition } = records[from] as BrokerRecord;
      let to = from + 1;
      while (records[to]?.partition === partition && records[to]?.topic === topic) to++;
      const lane = this.parts.lanes.get(topic, partition);
      if (lane) {
        try {
          this.#offer(lane, records, from, to, receivedAt);
        } catch (error) {
          this.#retryLater(lane, records[from] as BrokerRecord, error as Error);
        }
      }
      from = to;
    }
  }

  /**
   * Moves the lanes past aborted and control records at the end of their logs. Otherwise the lag
   * would not reach 0 before the next record.
   */
  #passOffsetsWithoutRecords(): void {
    const { session, lanes, pauser } = this.parts;
    for (const lane of lanes) {
      const position = session.position(lane);
      // The driver is behind records that a paused lane has dropped and reads again.
      if (position === undefined || position <= lane.tracker.next) continue;
      if (lane.phase !== 'open') continue;
      pauser.onRecordsReceived(lane);
      lane.advanceTo(position);
    }
  }

  #offer(
    lane: PartitionLane,
    records: readonly BrokerRecord[],
    from: number,
    to: number,
    receivedAt: number,
  ): void {
    const { session, pauser } = this.parts;
    const position = session.position(lane);
    const last = records[to - 1] as BrokerRecord;
    // The partition was revoked or got another position by a seek while these records were polled,
    // so they will be read again.
    if (position === undefined || position <= last.offset) return;
    // The driver's position is after these records. A paused lane seeks back to the first of them
    // when it resumes.
    if (lane.phase !== 'open') return;
    lane.enqueue(records, from, to, receivedAt);
    // The driver has returned every fetched record before this position, so an offset that was
    // skipped is missing from the log.
    lane.tracker.advanceTo(position);
    pauser.onRecordsReceived(lane);
    lane.processPending();
    if (lane.isBufferFull) pauser.applyBackpressure(lane);
  }

  /**
   * Treats the records of a lane that threw as not received. The other lanes get their records all
   * the same.
   */
  #retryLater(lane: PartitionLane, { offset }: BrokerRecord, error: Error): void {
    const { pauser, logger } = this.parts;
    logger.error('A partition could not take its records: they are read again', {
      partition: lane.name,
      offset,
      ...defectContext(error),
    });
    if (lane.phase === 'ended') return;
    const atWork = new Set(lane.running.map(({ record }) => record.offset));
    lane.tracker.rewindTo(offset, atWork);
    pauser.pauseFor(lane, {
      reason: 'backoff',
      delayMs: INTERNAL_ERROR_BACKOFF_MS,
      error,
      endsOnResume: false,
    });
  }

  async #yieldOrSleep(signal: AbortSignal): Promise<void> {
    const { runtime, idleBetweenPollsMs } = this.parts;
    if (idleBetweenPollsMs > 0) return sleep(runtime, idleBetweenPollsMs, signal);
    const now = runtime.monotonic();
    if (now - this.#yieldedAt < YIELD_AFTER_MS) return;
    await new Promise<void>((resolve) => runtime.defer(resolve));
    this.#yieldedAt = runtime.monotonic();
  }

  /** Continues polling after any error, because the session itself is alive. */
  async #backOff(error: Error, signal: AbortSignal): Promise<void> {
    this.parts.logger.error('A poll failed and is repeated', defectContext(error));
    await sleep(this.parts.runtime, this.#backoff.next(), signal).catch(() => undefined);
  }
}
