import type { DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import { asError } from '../../errors/as-error.js';
import {
  DeadLetterRequestedException,
  HandlerRefusedException,
} from '../../errors/handler-errors.js';
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
import type { FailureLocation, FailureObserver } from '../../model/outcomes/failure-observer.js';
import type { FailureReport, RememberedFailure } from '../../model/outcomes/failure-report.js';
import type { Outcome } from '../../model/outcomes/outcome.js';
import type { OngoingProblems } from '../../problems/ongoing-problems.js';
import type { DeadLetters } from '../publishing/dead-letters.js';
import { RecordTooLargeForRetryError, type RetryPublisher } from '../publishing/retry-publisher.js';
import { createFailureReport, renewReport } from '../report/create-failure-report.js';
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
  /** Counts the failures; undefined if metrics are disabled. */
  readonly observer?: FailureObserver | undefined;
  readonly problems: Pick<OngoingProblems, 'report'>;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

/**
 * Moves a failed record to its destination. The record is finished only after a topic has
 * acknowledged it. Until then it is redelivered, and its partition or its key waits.
 */
export class FailureRouter {
  constructor(private readonly parts: FailureRouterParts) {}

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
      this.parts.observer?.failed(this.#locationOf(report), report.description.className);
      return this.#move(new FailureCase(this.parts, delivery, failed, report));
    } catch (thrown) {
      return redelivered({ error: asError(thrown), attempts: failed.attempts }, report);
    }
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
        return this.#write(report, destination, delivery.signal, failed.attempts);
      case 'keep-in-place':
        if (failed.error instanceof HandlerRefusedException) this.#reportRefusal(failed.error);
        if (failure.wasCalled) this.parts.halfOpenBlocker?.onRecordKept(delivery.record);
        return redelivered(failed, report, destination.batch);
      case 'pause-partition':
        this.#log(
          'error',
          'A partition waits for a decision about its record: see connector.decide()',
          report,
        );
        return awaitingDecision(failed, report);
      case 'pause-binding':
        this.#log('error', 'A binding is paused because of a record', report);
        this.parts.pauseBinding(report.description.className);
        return redelivered(failed, report);
    }
  }

  /** Health shows the refusal as the reason of the partition's pause. */
  #reportRefusal({ message }: HandlerRefusedException): void {
    const { name } = this.parts.binding;
    this.parts.problems.report({
      key: `refused: ${message}`,
      message: `${message} Correct the guard, or remove it from the handler. To skip or dead-letter the record, call EventBusConnector.decide().`,
      ended: `For a minute, no record of binding '${name}' was refused by this guard`,
      context: { binding: name },
    });
  }

  /**
   * Writes the record. If the write fails, the next delivery repeats it. The handler calls are
   * counted with this delivery.
   */
  async #write(
    report: FailureReport,
    destination: WriteDestination,
    signal: AbortSignal,
    attempts: number,
  ): Promise<Outcome> {
    try {
      return destination.kind === 'retry'
        ? await this.#retry(report, destination, signal)
        : await this.#deadLetter(report, destination, signal);
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
    return this.#write(renewed, destination, delivery.signal, 0);
  }

  async #retry(
    report: FailureReport,
    destination: RetryDestination,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { tier, delivery } = destination;
    try {
      await this.parts.retries.publish(report, destination, signal);
    } catch (error) {
      if (!(error instanceof RecordTooLargeForRetryError)) throw error;
      const reason = { reason: 'RETRIES_EXHAUSTED', cause: 'too-large-for-retry' } as const;
      return this.#deadLetter(report, reason, signal);
    }
    this.parts.observer?.retried(this.#locationOf(report), tier);
    return { kind: 'retried', tier, delivery };
  }

  async #deadLetter(
    report: FailureReport,
    { reason, cause }: DeadLetterReason,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const result = await this.parts.deadLetters.accept(report, { reason, cause }, signal);
    if (result === 'discarded') return { kind: 'discarded', reason: 'dlt-handler' };
    this.parts.observer?.deadLettered(this.#locationOf(report), reason, cause);
    this.#log('warn', 'A record was dead-lettered', report, { reason, cause });
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
        : this.#deadLetter(
            this.#reportOnDecision(delivery),
            { reason: 'MANUAL', cause: 'operator' },
            delivery.signal,
          ));
      this.parts.halfOpenBlocker?.onRecordRemoved(record);
      return outcome;
    } catch (thrown) {
      return { kind: 'failed', reason: 'redeliver', error: asError(thrown), attempts: 0 };
    }
  }

  #skip({ record: { topic, partition, offset } }: Delivery): Outcome {
    const position = { topic, partition, offset };
    this.parts.logger.warn('A record is skipped by decision of an operator', position);
    return { kind: 'discarded', reason: 'skipped' };
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

  #locationOf({ record: { topic } }: FailureReport): FailureLocation {
    return { topic, tier: this.parts.tier };
  }

  /**
   * Logs where the record goes, without the message of the error and without the payload, because
   * both may be secret.
   */
  #log(
    level: 'warn' | 'error',
    message: string,
    { binding, record: { topic, partition, offset }, description, totalAttempts }: FailureReport,
    more: object = {},
  ): void {
    const position = { binding, topic, partition, offset };
    const failure = { error: description.className, totalAttempts, ...more };
    this.parts.logger[level](message, { ...position, ...failure });
  }
}

/** The part of a failure that the lane needs to redeliver the record. */
type KeptFailure = Pick<Failure, 'error' | 'attempts' | 'delayMs' | 'failingSince'>;

function redelivered(
  { error, attempts, delayMs, failingSince }: KeptFailure,
  report: FailureReport | undefined,
  batch?: BatchRedelivery,
): FailedOutcome {
  const kept = report && remembered(report);
  const rest = { error, attempts, delayMs, failingSince, report: kept, ...(batch && { batch }) };
  return { kind: 'failed', reason: 'redeliver', ...rest };
}

function awaitingDecision({ error, attempts }: KeptFailure, report: FailureReport): FailedOutcome {
  const kept = remembered(report);
  return { kind: 'failed', reason: 'awaiting-decision', error, attempts, report: kept };
}

function remembered(report: FailureReport): RememberedFailure {
  const { record: _, ...rest } = report;
  return rest;
}
