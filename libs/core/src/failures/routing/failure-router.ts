import type { DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import { asError } from '../../errors/as-error.js';
import {
  DeadLetterRequestedException,
  HandlerRefusedException,
} from '../../errors/handler-errors.js';
import { unwrapBatchError } from '../faults/bad-messages.js';
import type { CircuitBreaker } from '../../model/states/circuit-breaker.js';
import type { Delivery, RecordDecision } from '../../model/outcomes/delivery.js';
import { ExceptionRouting } from '../../model/outcomes/exception-routing.js';
import type { FailureObserver, FailureLocation } from '../../model/outcomes/failure-observer.js';
import type { FailedOutcome, Outcome } from '../../model/outcomes/outcome.js';
import { BatchFailurePolicy } from './batch-failure-policy.js';
import type {
  BindingClassifier,
  FailureClassification,
} from '../classification/binding-classifier.js';
import type { DeadLetters } from '../publishing/dead-letters.js';
import { describeError } from '../report/error-description.js';
import { destinationOf, type DeadLetter, type Destination } from './destination.js';
import type { FailureReport } from '../report/failure-report.js';
import type { HalfOpenBlockerDetector } from './half-open-blocker-detector.js';
import { OutagePolicy } from './outage-policy.js';
import { createFailureReport } from '../report/create-failure-report.js';
import { RecordTooLargeForRetryError, type RetryPublisher } from '../publishing/retry-publisher.js';

export interface FailureRouterParts {
  readonly binding: ResolvedBinding;
  /** Where the records come from: 0 is the main topic. */
  readonly tier: number;
  readonly classifier: BindingClassifier;
  /** Of the binding. Left out where it has none. */
  readonly breaker: Pick<CircuitBreaker, 'state'> | undefined;
  /** Of the same. */
  readonly halfOpenBlocker?:
    Pick<HalfOpenBlockerDetector, 'onRecordKept' | 'onRecordRemoved'> | undefined;
  readonly retries: Pick<RetryPublisher, 'publish'>;
  readonly deadLetters: Pick<DeadLetters, 'accept'>;
  /** As PAUSE_CONTAINER asks. Returns at once. */
  readonly pauseBinding: (exceptionClass: string) => void;
  /** Left out where nobody counts. */
  readonly observer?: FailureObserver | undefined;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

/**
 * Sees a record that failed to where it goes from here. It counts as done only once somebody has
 * acknowledged it; until then it stays, and its partition waits.
 */
export class FailureRouter {
  readonly #testBed: OutagePolicy;
  readonly #batch: BatchFailurePolicy;
  /**
   * Where those go that could not be written there yet. It is not asked again: nobody calls them
   * meanwhile, and what the circuit says of other calls by then is nothing that they wait for.
   */
  readonly #pendingDestinations = new WeakMap<FailedOutcome, Destination>();

  constructor(private readonly parts: FailureRouterParts) {
    this.#testBed = new OutagePolicy(parts);
    this.#batch = new BatchFailurePolicy(parts.binding);
  }

  /** Never rejects: what goes wrong in here leaves the record where it is. */
  async route(delivery: Delivery, failed: FailedOutcome): Promise<Outcome> {
    let destination = this.#pendingDestinations.get(failed);
    try {
      this.#notifyObserver(delivery, failed);
      destination ??= this.#destinationOf(delivery, failed);
      if (destination) return await this.#send(delivery, failed, destination);
      if ((failed.attempts ?? 0) > 0) this.parts.halfOpenBlocker?.onRecordKept(delivery.record);
      return this.#remembered(delivery, failed);
    } catch (thrown) {
      const kept = this.#remembered(delivery, failed);
      return this.#notSent(kept, asError(thrown), destination);
    }
  }

  /** Only where it is known where it belongs, the handler is not called again for it. */
  #notSent(failed: FailedOutcome, error: Error, to: Destination | undefined): FailedOutcome {
    const { attempts = 1, failureSummary: remember } = failed;
    const outcome: FailedOutcome = { kind: 'failed', error, attempts, failureSummary: remember };
    if (!to) return outcome;
    // Its calls are counted with this delivery: when it is routed later there were none in between.
    const unrouted: FailedOutcome = { ...failed, attempts: 0 };
    this.#pendingDestinations.set(unrouted, to);
    return { ...outcome, pendingRouting: unrouted };
  }

  /** For its next delivery. Without a call there is nothing new, and what cannot be told is not remembered. */
  #remembered(delivery: Delivery, failed: FailedOutcome): FailedOutcome {
    if (failed.attempts === 0) return failed;
    try {
      const { firstFailureAt: since, fingerprint } = this.#reportOf(delivery, failed);
      return { ...failed, failureSummary: { since, fingerprint } };
    } catch {
      return failed;
    }
  }

  /** Somebody decided about a record whose partition waited for it. What cannot be carried out is tried again. */
  async applyDecision(delivery: Delivery, decision: RecordDecision): Promise<Outcome> {
    if (decision === 'skip') {
      const { topic, partition, offset } = delivery.record;
      this.parts.halfOpenBlocker?.onRecordRemoved(delivery.record);
      this.parts.logger.warn('A record is skipped by decision of an operator', {
        topic,
        partition,
        offset,
      });
      return { kind: 'discarded', reason: 'skipped' };
    }
    // Its calls were counted with the delivery that failed.
    const failed: FailedOutcome = { ...(delivery.lastFailure ?? givenUp()), attempts: 0 };
    const letter: DeadLetter = { kind: 'dead-letter', reason: 'MANUAL', cause: 'operator' };
    try {
      const outcome = await this.#deadLetter(
        this.#reportOf(delivery, failed),
        letter,
        delivery.signal,
      );
      this.parts.halfOpenBlocker?.onRecordRemoved(delivery.record);
      return outcome;
    } catch (thrown) {
      return { kind: 'failed', error: asError(thrown), attempts: 0 };
    }
  }

  /** undefined: it stays where it is, and is delivered again. */
  #destinationOf(delivery: Delivery, failed: FailedOutcome): Destination | undefined {
    const { binding, classifier, tier } = this.parts;
    const { error, ending } = failed;
    if (error instanceof HandlerRefusedException) return undefined;
    if (ending === 'given-up') return { kind: 'dead-letter', reason: 'MANUAL', cause: 'handler' };
    const classify = (): FailureClassification => classifier.classify(failed, tier);
    if (ending === 'delivered-again') return this.#poisonInPlace(delivery, failed, classify);
    const verdict = classify();
    if (!verdict.isExplicit && this.#testBed.keepsInPlace(delivery, failed)) return undefined;
    const inBatch = this.#batch.destinationOf(delivery, verdict);
    if (inBatch === 'stay') return this.#poisonInPlace(delivery, failed, () => verdict);
    const report = this.#reportOf(delivery, failed);
    return (
      inBatch ??
      this.#beyondBudget(failed, verdict) ??
      this.#poison(report, () => verdict) ??
      destinationOf(verdict.decision, failed, report, binding)
    );
  }

  /** More calls are left, but they would fail as those before. Without a call of its own there is nothing to judge by. */
  #poisonInPlace(
    delivery: Delivery,
    failed: FailedOutcome,
    verdict: () => FailureClassification,
  ): Destination | undefined {
    const { attempts = 0 } = failed;
    return attempts === 0 || this.#testBed.keepsInPlace(delivery, failed)
      ? undefined
      : this.#poison(this.#reportOf(delivery, failed), verdict);
  }

  /** It shortens the ordinary road. A place that the application has chosen is not on it. */
  #poison(
    { isPoison, totalAttempts }: FailureReport,
    verdict: () => FailureClassification,
  ): Destination | undefined {
    const { poisonAfter } = this.parts.binding.retry;
    if (poisonAfter === 0 || !isPoison || totalAttempts < poisonAfter) return undefined;
    const { isExplicit, decision } = verdict();
    return isExplicit && decision.routing !== ExceptionRouting.NEXT_TIER
      ? undefined
      : { kind: 'dead-letter', reason: 'RETRIES_EXHAUSTED', cause: 'poison' };
  }

  /** Not where the order is worth a stop: there it has failed as if it had had all its calls. */
  #beyondBudget(
    { ending }: FailedOutcome,
    { isExplicit }: FailureClassification,
  ): Destination | undefined {
    const { retry, orderingMode, strictExhaustion } = this.parts.binding;
    if (isExplicit) return undefined;
    if (orderingMode === 'STRICT' && strictExhaustion === 'PAUSE_PARTITION') return undefined;
    return ending === 'over-budget' && retry.onBudgetExceeded === 'DLT'
      ? { kind: 'dead-letter', reason: 'RETRIES_EXHAUSTED', cause: 'budget-exceeded' }
      : undefined;
  }

  #send(delivery: Delivery, failed: FailedOutcome, to: Destination): Outcome | Promise<Outcome> {
    const report = this.#reportOf(delivery, failed);
    switch (to.kind) {
      case 'retry':
        return this.#retry(report, to, delivery.signal);
      case 'dead-letter':
        return this.#deadLetter(report, to, delivery.signal);
      case 'pause-partition':
        this.#log('error', 'A partition waits until somebody decides about its record', report);
        return { ...this.#remembered(delivery, failed), until: 'decided' };
      case 'pause-binding':
        this.#log('error', 'A binding is paused because of a record', report);
        this.parts.pauseBinding(report.description.className);
        return this.#remembered(delivery, failed);
    }
  }

  async #retry(
    report: FailureReport,
    { tier, delivery }: Extract<Destination, { kind: 'retry' }>,
    signal: AbortSignal,
  ): Promise<Outcome> {
    try {
      await this.parts.retries.publish(report, { tier, delivery }, signal);
    } catch (error) {
      if (!(error instanceof RecordTooLargeForRetryError)) throw error;
      const letter = { reason: 'RETRIES_EXHAUSTED', cause: 'too-large-for-retry' } as const;
      return this.#deadLetter(report, { kind: 'dead-letter', ...letter }, signal);
    }
    this.parts.observer?.retried(this.#locationOf(report), tier.number);
    return { kind: 'retried', tier: tier.number, delivery };
  }

  async #deadLetter(
    report: FailureReport,
    { reason, cause }: DeadLetter,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const fate = await this.parts.deadLetters.accept(report, { reason, cause }, signal);
    if (fate === 'discarded') return { kind: 'discarded', reason: 'dlt-handler' };
    this.parts.observer?.deadLettered(this.#locationOf(report), reason, cause);
    this.#log('warn', 'A record was dead-lettered', report, { reason, cause });
    return { kind: 'dead-lettered', reason, cause };
  }

  /** What was handled before, and could not be written to where it belongs, has been told already. */
  #notifyObserver(delivery: Delivery, { error }: FailedOutcome): void {
    const { observer } = this.parts;
    if (!observer || delivery.pendingRouting) return;
    const { className } = describeError(unwrapBatchError(error), { exceptionDetail: 'class' });
    observer.failed(this.#locationOf(delivery), className);
  }

  #locationOf({ record: { topic } }: Pick<Delivery, 'record'>): FailureLocation {
    return { topic, tier: this.parts.tier };
  }

  #reportOf(delivery: Delivery, failed: FailedOutcome): FailureReport {
    const { binding, tier, runtime } = this.parts;
    return createFailureReport({ binding, delivery, failed, tier, runtime });
  }

  /** Neither the message nor the payload: both may hold what no log should. Never throws: the record may be written already. */
  #log(
    level: 'warn' | 'error',
    message: string,
    { binding, record: { topic, partition, offset }, description, totalAttempts }: FailureReport,
    more: object = {},
  ): void {
    this.parts.logger[level](message, {
      binding,
      topic,
      partition,
      offset,
      error: description.className,
      totalAttempts,
      ...more,
    });
  }
}

function givenUp(): FailedOutcome {
  const error = new DeadLetterRequestedException('An operator gave the record up.');
  return { kind: 'failed', error };
}
