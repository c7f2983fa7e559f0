import { errorReasonOf, type DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import { asError } from '../../errors/as-error.js';
import {
  DeadLetterRequestedException,
  HandlerRefusedException,
} from '../../errors/handler-errors.js';
import type { CallAgain } from '../../model/events/event-bus-events.js';
import type { BindingEventSink } from '../../model/events/event-sink.js';
import { RecordPosition } from '../../model/events/record-position.js';
import type { RecordDecision } from '../../model/outcomes/decision.js';
import type { PendingWrite } from '../../model/outcomes/delivery-history.js';
import type { Delivery } from '../../model/outcomes/delivery.js';
import type {
  DeadLetterReason,
  RetryDestination,
  WriteDestination,
} from '../../model/outcomes/destination.js';
import type {
  BatchRedelivery,
  FailedOutcome,
  Failure,
} from '../../model/outcomes/failed-outcome.js';
import type { FailureReport, RememberedFailure } from '../../model/outcomes/failure-report.js';
import type { Outcome } from '../../model/outcomes/outcome.js';
import type { DeadLetterResult, DeadLetters } from '../publishing/dead-letters.js';
import type { OngoingProblems } from '../../problems/ongoing-problems.js';
import { RecordTooLargeForRetryError, type RetryPublisher } from '../publishing/retry-publisher.js';
import { createFailureReport, renewReport } from '../report/create-failure-report.js';
import { FailureEvents } from '../report/failure-events.js';
import type { HalfOpenBlockerDetector } from './half-open-blocker-detector.js';
import { decideDestination, FailureCase, type RoutingParts } from './routing-rules.js';

export interface FailureRouterParts extends RoutingParts {
  /**
   * Detector of a record that keeps the circuit half open. It observes the same circuit breaker.
   */
  readonly halfOpenBlocker?:
    Pick<HalfOpenBlockerDetector, 'onRecordKept' | 'onRecordRemoved'> | undefined;
  readonly retries: Pick<RetryPublisher, 'publish'>;
  readonly deadLetters: Pick<DeadLetters, 'accept'>;
  /** Pauses the binding for PAUSE_CONTAINER. Returns without waiting. */
  readonly pauseBinding: (exceptionClass: string) => void;
  readonly problems: Pick<OngoingProblems, 'report'>;
  /** Takes the events of the binding. */
  readonly events: BindingEventSink;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

/**
 * Moves a failed record to its destination. The record is finished only after a topic has
 * acknowledged it. Until then it is redelivered, and its partition or its key waits.
 */
export class FailureRouter {
  readonly #events: FailureEvents;

  constructor(private readonly parts: FailureRouterParts) {
    this.#events = new FailureEvents(parts);
  }

  /**
   * Routes a failure. Returns a promise only if the record is written to a topic. Never throws or
   * rejects: after an internal error the record is redelivered, and its handler is called again.
   */
  route(delivery: Delivery, failed: FailedOutcome): Outcome | Promise<Outcome> {
    // The failure was routed already, in an earlier step.
    if (failed.reason === 'awaiting-decision' || failed.reason === 'write-failed') return failed;
    let report: FailureReport | undefined;
    try {
      report = createFailureReport({ ...this.parts, delivery, failed });
      return this.#move(new FailureCase(this.parts, delivery, failed, report));
    } catch (thrown) {
      const error = asError(thrown);
      this.#logInternalError(delivery, error);
      return this.#redelivered({ error, attempts: failed.attempts }, report);
    }
  }

  /** Reports a failed call after which the handler is called again. Never throws. */
  onCallFailed(delivery: Delivery, failed: Failure, again: CallAgain): void {
    try {
      const report = createFailureReport({ ...this.parts, delivery, failed });
      this.#events.failed(report, { kind: 'call-again', ...again });
    } catch (thrown) {
      this.#logInternalError(delivery, asError(thrown));
    }
  }

  /** Reports that a record has succeeded, if it had failed before. Never throws. */
  onSucceeded(delivery: Delivery, failedCalls: number): void {
    this.#events.recovered(delivery, this.parts.tier, failedCalls);
  }

  /** Reports that a record was discarded without a failure. Never throws. */
  onDiscarded(delivery: Delivery, reason: string): void {
    this.#events.discarded(delivery, this.parts.tier, reason);
  }

  /**
   * Applies an operator's decision, or repeats a write that failed. Returns undefined if the
   * handler has to be called. Never rejects.
   */
  routeWithoutCall(delivery: Delivery): Promise<Outcome> | undefined {
    const { decision, pendingWrite } = delivery.history;
    if (decision) return this.#carryOut(decision, delivery);
    return pendingWrite && this.#repeatWrite(pendingWrite, delivery);
  }

  #move(failure: FailureCase): Outcome | Promise<Outcome> {
    const { failed, report, delivery } = failure;
    const destination = decideDestination(failure);
    switch (destination.kind) {
      case 'retry':
      case 'dead-letter':
        return this.#write(
          { report, destination, attempts: failed.attempts, isNew: true },
          delivery,
        );
      case 'keep-in-place':
        if (failed.error instanceof HandlerRefusedException)
          this.#reportRefusal(failed.error, report);
        if (failure.wasCalled) this.parts.halfOpenBlocker?.onRecordKept(delivery.record);
        return this.#redelivered(failed, report, destination.batch);
      case 'pause-partition':
        this.#events.failed(report, { kind: 'wait-for-decision' });
        return awaitingDecision(failed, report);
      case 'pause-binding':
        this.#events.failed(report, { kind: 'pause-binding' });
        this.parts.pauseBinding(report.description.className);
        return redelivered(failed, report);
    }
  }

  /** Health shows the refusal as the reason of the partition's pause. */
  #reportRefusal({ message }: HandlerRefusedException, { record }: FailureReport): void {
    const { name } = this.parts.binding;
    this.parts.problems.report({
      key: `refused: ${message}`,
      message: `${message} Correct the guard, or remove it from the handler. To skip or dead-letter the record, call EventBusConnector.decide().`,
      ended: `For a minute, no record of binding '${name}' was refused by this guard`,
      context: {
        binding: name,
        record: String(new RecordPosition(record.topic, record.partition, record.offset)),
      },
    });
  }

  /** Keeps the record in its place. The failure is reported when its lane knows the delay. */
  #redelivered(
    failed: KeptFailure,
    report: FailureReport | undefined,
    batch?: BatchRedelivery,
  ): FailedOutcome {
    const onRedelivery =
      report &&
      ((inMs: number | undefined): void =>
        this.#events.failed(report, { kind: 'redeliver', ...(inMs !== undefined && { inMs }) }));
    return redelivered(failed, report, { batch, onRedelivery });
  }

  /**
   * Writes the record. If the write fails, the next delivery repeats it. The handler calls are
   * counted with this delivery.
   */
  async #write(write: FailureWrite, { signal }: Delivery): Promise<Outcome> {
    const { report, destination, attempts } = write;
    try {
      return destination.kind === 'retry'
        ? await this.#retry(write, destination, signal)
        : await this.#deadLetter(write, destination, signal);
    } catch (thrown) {
      const error = asError(thrown);
      const pendingWrite = { destination, report: remembered(report) };
      return { kind: 'failed', reason: 'write-failed', error, attempts, pendingWrite };
    }
  }

  /**
   * Repeats the write. Counts no call, because the calls were counted with the delivery that
   * failed.
   */
  #repeatWrite({ destination, report }: PendingWrite, delivery: Delivery): Promise<Outcome> {
    const renewed = renewReport(report, delivery.record, this.parts.runtime);
    return this.#write({ report: renewed, destination, attempts: 0, isNew: false }, delivery);
  }

  async #retry(
    { report, isNew }: NewOrRepeated,
    destination: RetryDestination,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { tier, delivery } = destination;
    if (isNew) this.#events.failed(report, this.#events.retryStep(destination));
    try {
      await this.parts.retries.publish(report, destination, signal);
    } catch (error) {
      if (!(error instanceof RecordTooLargeForRetryError)) throw error;
      this.#log('A record does not fit into its retry topic, and is dead-lettered', report);
      const reason = { reason: 'RETRIES_EXHAUSTED', cause: 'too-large-for-retry' } as const;
      return this.#deadLetter({ report, isNew: false }, reason, signal);
    }
    this.#events.retried(report, destination);
    return { kind: 'retried', tier, delivery };
  }

  async #deadLetter(
    { report, isNew }: NewOrRepeated,
    { reason, cause }: DeadLetterReason,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const letter = { reason, cause };
    const onDecided = (result: DeadLetterResult): void =>
      this.#events.failed(
        report,
        result === 'discarded' ? { kind: 'discard' } : this.#events.deadLetterStep(letter),
      );
    const accepted = this.parts.deadLetters.accept(
      report,
      letter,
      signal,
      isNew ? onDecided : undefined,
    );
    if ((await accepted) === 'discarded') {
      this.#events.discardedByHandler(report);
      return { kind: 'discarded', reason: 'dlt-handler' };
    }
    this.#events.deadLettered(report, letter);
    return { kind: 'dead-lettered', reason, cause };
  }

  /**
   * Applies a decision. If that fails, the decision remains in the history, so that the next
   * delivery applies it.
   */
  async #carryOut(decision: RecordDecision, delivery: Delivery): Promise<Outcome> {
    const { record } = delivery;
    try {
      const outcome = await (decision === 'skip'
        ? this.#skip(delivery)
        : this.#deadLetterByDecision(delivery));
      this.parts.halfOpenBlocker?.onRecordRemoved(record);
      return outcome;
    } catch (thrown) {
      return { kind: 'failed', reason: 'redeliver', error: asError(thrown), attempts: 0 };
    }
  }

  #skip(delivery: Delivery): Outcome {
    const { topic, partition, offset } = delivery.record;
    const position = { topic, partition, offset };
    this.parts.logger.warn('A record is skipped by decision of an operator', position);
    this.onDiscarded(delivery, 'skipped');
    return { kind: 'discarded', reason: 'skipped' };
  }

  async #deadLetterByDecision(delivery: Delivery): Promise<Outcome> {
    const report = this.#reportOnDecision(delivery);
    const reason = { reason: 'MANUAL', cause: 'operator' } as const;
    const outcome = await this.#deadLetter({ report, isNew: false }, reason, delivery.signal);
    this.#log('A record was dead-lettered by decision of an operator', report);
    return outcome;
  }

  /**
   * Reports the failure that led to the decision. Its calls were counted with the delivery that
   * failed.
   */
  #reportOnDecision(delivery: Delivery): FailureReport {
    const { lastFailure } = delivery.history;
    if (lastFailure) return renewReport(lastFailure, delivery.record, this.parts.runtime);
    const error = new DeadLetterRequestedException('An operator gave the record up.');
    const failed: Failure = { kind: 'failed', reason: 'handler-gave-up', error, attempts: 0 };
    return createFailureReport({ ...this.parts, delivery, failed });
  }

  /** Logs without the message of the error, because it may be secret. */
  #log(message: string, { binding, record, description, totalAttempts }: FailureReport): void {
    const { topic, partition, offset } = record;
    const failure = { error: description.className, totalAttempts };
    this.parts.logger.warn(message, { binding, topic, partition, offset, ...failure });
  }

  #logInternalError({ record: { topic, partition, offset } }: Delivery, error: Error): void {
    const { binding, logger } = this.parts;
    logger.error(
      'A failed record could not be routed, because of an internal error. It stays in its place and is delivered again.',
      {
        binding: binding.name,
        record: String(new RecordPosition(topic, partition, offset)),
        reason: errorReasonOf(error),
      },
    );
  }
}

/** A failure that is reported when its destination is known, or one that was reported already. */
interface NewOrRepeated {
  readonly report: FailureReport;
  readonly isNew: boolean;
}

interface FailureWrite extends NewOrRepeated {
  readonly destination: WriteDestination;
  /** Handler calls that count with this delivery. */
  readonly attempts: number;
}

/** How a record is redelivered that stays in its place. */
interface Redelivery {
  readonly batch?: BatchRedelivery | undefined;
  readonly onRedelivery?: ((inMs: number | undefined) => void) | undefined;
}

/** The part of a failure that the lane needs to redeliver the record. */
type KeptFailure = Pick<Failure, 'error' | 'attempts' | 'delayMs' | 'failingSince'>;

function redelivered(
  { error, attempts, delayMs, failingSince }: KeptFailure,
  report: FailureReport | undefined,
  { batch, onRedelivery }: Redelivery = {},
): FailedOutcome {
  const kept = report && remembered(report);
  const rest = { error, attempts, delayMs, failingSince, report: kept };
  const optional = { ...(batch && { batch }), ...(onRedelivery && { onRedelivery }) };
  return { kind: 'failed', reason: 'redeliver', ...rest, ...optional };
}

function awaitingDecision({ error, attempts }: KeptFailure, report: FailureReport): FailedOutcome {
  const kept = remembered(report);
  return { kind: 'failed', reason: 'awaiting-decision', error, attempts, report: kept };
}

function remembered(report: FailureReport): RememberedFailure {
  const { record: _, ...rest } = report;
  return rest;
}
