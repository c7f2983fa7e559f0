import type { AssignedPartition, ConsumerSession } from '@nest-event-bus/broker';
import { AckMode } from '../model/ack-mode.js';
import type { Outcome } from '../model/outcome.js';
import { Committer } from './committer.js';
import { type AbortCause, DeliveryAbortedException } from './delivery-aborted-exception.js';
import type { HandlerWatch } from './handler-watch.js';
import type { DrainReport, IntakeOptions, PartitionPause } from './intake.js';
import type { LaneDelivery } from './lane-delivery.js';
import { LaneGate } from './lane-gate.js';
import type { Lanes } from './lanes.js';
import type { LaneObserver, Setback } from './lane-parts.js';
import { PartitionLane } from './partition-lane.js';
import type { PauseLedger } from './pause-ledger.js';
import { PollLoop } from './poll-loop.js';
import { EventBusRebalanceListener, FINAL_COMMIT_MS, whenAllQuiet } from './rebalance-listener.js';
import type { Tally } from './tally.js';

/** What outlives a consumer session that failed. */
export interface TermParts {
  readonly options: IntakeOptions;
  readonly ledger: PauseLedger;
  readonly lanes: Lanes;
  readonly tally: Tally;
  readonly watch: HandlerWatch;
  onJoined(): void;
  onChange(): void;
}

/** The life of one consumer session: what is polled, handled and committed as this member of the group. */
export class MemberTerm implements LaneObserver {
  readonly session: ConsumerSession;
  commitTrouble: Error | undefined;
  readonly #committer: Committer;
  readonly #gate: LaneGate;
  readonly #listener: EventBusRebalanceListener;
  readonly #polling: PollLoop;
  #isClosing = false;

  constructor(private readonly parts: TermParts) {
    const { ledger, lanes } = parts;
    const { driver, consumer, settings, runtime, logger } = parts.options;
    const { maxPollRecords, idleBetweenPollsMs, rebalanceDrainTimeoutMs } = settings;
    const session = driver.consumer(consumer);
    const onChange = (): void => parts.onChange();
    this.session = session;
    this.#committer = new Committer({
      session,
      runtime,
      logger,
      onTrouble: (error) => {
        this.commitTrouble = error;
        onChange();
      },
    });
    this.#gate = new LaneGate({ session, ledger, lanes, runtime, logger, onChange });
    this.#listener = new EventBusRebalanceListener({
      lanes,
      gate: this.#gate,
      committer: this.#committer,
      runtime,
      logger,
      newLane: (assigned) => this.#newLane(assigned),
      // Who closes has waited for both before.
      drainTimeoutMs: () => (this.#isClosing ? 0 : rebalanceDrainTimeoutMs),
      commitTimeoutMs: () => (this.#isClosing ? 0 : FINAL_COMMIT_MS),
      onChange,
    });
    const gate = this.#gate;
    this.#polling = new PollLoop({
      session,
      lanes,
      gate,
      runtime,
      logger,
      maxPollRecords,
      idleBetweenPollsMs,
    });
    session.onStatus(onChange);
  }

  /** Joins and polls until `polling` aborts or the session ends; gives the error by which it did. */
  async live(ending: AbortSignal, polling: AbortSignal): Promise<unknown> {
    try {
      await this.session.start(this.#listener, ending);
      this.parts.onJoined();
      return await this.#polling.run(polling);
    } catch (error) {
      return error;
    }
  }

  /** Puts the session's pause reasons into effect, and commits what is done. */
  async pause(): Promise<void> {
    this.#gate.update();
    for (const lane of this.parts.lanes)
      if (lane.isHeld) lane.abortWaits(new DeliveryAbortedException('paused'));
    await this.flush();
  }

  resume(): void {
    this.#gate.endSoftWaits();
    this.#gate.update();
  }

  partitionPauses(): readonly PartitionPause[] {
    return this.#gate.pauses();
  }

  flush(): Promise<boolean> {
    for (const lane of this.parts.lanes) this.#committer.request(lane);
    return this.#committer.flush(FINAL_COMMIT_MS);
  }

  /** Waits for running handlers, then commits; what ends later is not committed. */
  async settle(timeoutMs: number, cause: AbortCause): Promise<DrainReport> {
    const { lanes, options } = this.parts;
    this.#gate.update();
    const all = [...lanes, ...lanes.lingering];
    for (const lane of all) lane.abortWaits(new DeliveryAbortedException(cause));
    const isQuiet = await whenAllQuiet(options.runtime, all, timeoutMs);
    const abandoned = lanes.atWork;
    for (const lane of all) {
      lane.end();
      lane.abort(new DeliveryAbortedException(cause));
    }
    const isCommitted = await this.flush();
    return { complete: isQuiet && isCommitted, abandoned };
  }

  /** Commits what is done, leaves the group and ends all lanes. */
  async close(cause: AbortCause): Promise<void> {
    this.#isClosing = true;
    await this.settle(0, cause);
    await this.session.close();
    this.#committer.close();
    for (const lane of [...this.parts.lanes]) {
      lane.end();
      this.parts.lanes.remove(lane);
      this.#gate.leave(lane);
    }
  }

  onDone(lane: PartitionLane): void {
    this.#committer.request(lane);
  }

  onRoom(lane: PartitionLane): void {
    this.#gate.relieve(lane);
  }

  onRunning(): void {
    this.parts.watch.arm();
  }

  onSetback(lane: PartitionLane, setback: Setback): void {
    const { delayMs } = setback;
    this.#committer.request(lane);
    switch (setback.kind) {
      case 'failed': {
        const { error } = setback;
        this.#gate.hold(lane, { reason: 'backoff', delayMs, error, isSoft: false });
        return;
      }
      case 'handed-back':
        this.#gate.hold(lane, { reason: 'delay', delayMs, isSoft: !setback.isChosen });
        return;
    }
  }

  onLate(_: PartitionLane, { record }: LaneDelivery, outcome: Outcome): void {
    const { topic, partition, offset } = record;
    this.parts.options.logger.warn(
      'A handler ended after its partition was taken away: its record is delivered again',
      { topic, partition, offset, outcome: outcome.kind },
    );
  }

  #newLane(assigned: AssignedPartition): PartitionLane {
    const { options, tally, lanes } = this.parts;
    const { processor, runtime, settings, sessionIndex } = options;
    const { maxPollRecords, maxPollIntervalMs, failureBackoff, ackMode } = settings;
    const before = lanes.lingeringOf(assigned.topic, assigned.partition);
    return new PartitionLane(assigned, {
      processor,
      runtime,
      tally,
      sessionIndex,
      settings: {
        maxPollRecords,
        failureBackoff,
        commitsEachRecord: ackMode === AckMode.MANUAL_IMMEDIATE,
      },
      observer: this,
      // Order lasts over an assignment too; but a handler that never ends must not hold it for ever.
      ...(before.length > 0 && {
        predecessor: whenAllQuiet(runtime, before, maxPollIntervalMs).then(() => undefined),
      }),
    });
  }
}
