import type { Runtime } from '@nest-event-bus/broker/runtime';
import { wrap, type IRetryContext } from 'cockatiel';
import { CircuitBreakerOpenException } from '../../errors/circuit-errors.js';
import type { Delivery } from '../../model/outcomes/delivery.js';
import type { FailedOutcome } from '../../model/outcomes/failed-outcome.js';
import {
  handedBack,
  handedBackAfter,
  isFailed,
  succeeded,
  type Outcome,
} from '../../model/outcomes/outcome.js';
import { andThen, isPromiseLike } from '../and-then.js';
import { invokeBatch } from '../batches/invoke-batch.js';
import { outcomeSetBeforeThrow } from '../context/outcome-set-before-throw.js';
import type { LogContexts } from '../logging/log-contexts.js';
import type { PipelineStep } from '../pipeline-step.js';
import type { Preparation } from '../preparation/preparation.js';
import { RecordCall } from '../record-call.js';
import type { RoutesFailures } from '../routing/failure-routing-step.js';
import { failedWith } from '../to-error.js';
import { BreakerCall, callResultOf } from './breaker-call.js';
import { isStopRetrying, StopRetrying } from './stop-retrying.js';
import { DeliveryRetry, failedCall } from './delivery-retry.js';
import { withSeekMode, type RetryConfig } from './retry-config-factory.js';
import { decideRetry, failedOutcomeOf } from './retry-decision.js';
import { REFUSED, type Permit, type SlidingCircuitBreaker } from './sliding-circuit-breaker.js';

export interface ResilienceOptions {
  readonly binding: string;
  /**
   * Circuit breaker, which all sessions and retry tiers of the binding share. Omitted if the
   * binding has none.
   */
  readonly breaker?: SlidingCircuitBreaker;
  readonly retry: RetryConfig;
  /** Prepares the record again before another call. */
  readonly preparation: Pick<Preparation, 'prepare'>;
  readonly runtime: Runtime;
  /** Called after each failed call after which the handler is called again. */
  readonly failures?: Pick<RoutesFailures, 'onCallFailed'> | undefined;
  /** Gives each further call its own context for log lines. Absent if there is none. */
  readonly logContexts?: LogContexts | undefined;
}

/** A call that may be made, because the breaker has admitted it or the binding has none. */
interface AdmittedCall {
  readonly permit: Permit;
  readonly startedAt: number;
}

const UNGUARDED: Permit = 0;

/**
 * The outcome while the circuit is open. The handler was not called, so nothing is counted, and the
 * record is redelivered. The delay is fixed: a delay that grew during the outage would still delay
 * partitions after the circuit has closed.
 */
const retryWhileOpen: Outcome = Object.freeze({ kind: 'handed-back', delayMs: 500 });

/**
 * breaker(retry(handler)) for one record or one slice.
 *
 * The first call does not use cockatiel, and reports its success directly to the breaker, without a
 * promise, a closure or a policy. Cockatiel is used only after a failed call. Without a breaker not
 * even the clock is read.
 */
export class ResilienceDecorator implements PipelineStep {
  readonly #binding: string;
  readonly #breaker: SlidingCircuitBreaker | undefined;
  readonly #runtime: Runtime;
  readonly #retry: RetryConfig;
  readonly #sliceRetry: RetryConfig;
  readonly #preparation: Pick<Preparation, 'prepare'>;
  readonly #failures: ResilienceOptions['failures'];
  readonly #logContexts: LogContexts | undefined;

  constructor(options: ResilienceOptions) {
    const { binding, breaker, retry, preparation, runtime, failures, logContexts } = options;
    this.#failures = failures;
    this.#logContexts = logContexts;
    this.#binding = binding;
    this.#breaker = breaker;
    this.#runtime = runtime;
    this.#retry = retry;
    this.#sliceRetry = withSeekMode(retry);
    this.#preparation = preparation;
  }

  /**
   * Calls the handler, with retries. Never throws. Returns a promise only if the handler does, or
   * if its call fails.
   */
  process(call: RecordCall): Outcome | Promise<Outcome> {
    const permit = this.#breaker === undefined ? UNGUARDED : this.#breaker.admit();
    if (permit === REFUSED) return this.#circuitOpenOutcome();
    const startedAt = this.#breaker === undefined ? 0 : this.#runtime.monotonic();
    try {
      const result = call.handler.invoke([call.record], [call.context]);
      return isPromiseLike(result)
        ? this.#concludeLater(result, call, { permit, startedAt })
        : this.#conclude(result, call, permit, startedAt);
    } catch (error) {
      return this.#retryAfter(error, call, { permit, startedAt });
    }
  }

  /** Calls the handler once with all these records. A delivery of a slice has only one call. */
  processSlice(slice: readonly RecordCall[]): readonly Outcome[] | Promise<readonly Outcome[]> {
    const permit = this.#breaker === undefined ? UNGUARDED : this.#breaker.admit();
    if (permit === REFUSED)
      return slice.map((_, index) => (index === 0 ? this.#circuitOpenOutcome() : handedBack));
    const startedAt = this.#breaker === undefined ? 0 : this.#runtime.monotonic();
    return andThen(
      invokeBatch(slice),
      (outcomes) => this.#sliceDone(slice, outcomes, permit, startedAt),
      undefined,
    );
  }

  /**
   * Returns the outcome after the handler returned. Throws if the answer says that the handler
   * failed.
   */
  #conclude(answer: unknown, call: RecordCall, permit: Permit, startedAt: number): Outcome {
    const outcome = call.context.outcomeAfterReturn(answer);
    if (this.#breaker) this.#settleBreaker(this.#breaker, outcome, permit, startedAt);
    return outcome;
  }

  /**
   * Returns the outcome of an asynchronous handler. Uses `then` instead of `await`, because an
   * async function per record would take more time than the breaker and the retries.
   */
  #concludeLater(
    result: PromiseLike<unknown>,
    call: RecordCall,
    admitted: AdmittedCall,
  ): Promise<Outcome> {
    const fail = (error: unknown): Promise<Outcome> => this.#retryAfter(error, call, admitted);
    return Promise.resolve(result).then((answer) => {
      try {
        return this.#conclude(answer, call, admitted.permit, admitted.startedAt);
      } catch (error) {
        return fail(error);
      }
    }, fail);
  }

  #settleBreaker(
    breaker: SlidingCircuitBreaker,
    outcome: Outcome,
    permit: Permit,
    startedAt: number,
  ): void {
    breaker.settle(permit, callResultOf(outcome), this.#runtime.monotonic() - startedAt);
  }

  /**
   * Retries after the first call has failed. The first call was made without the policies, so they
   * repeat its error as the result of their first call.
   */
  async #retryAfter(
    firstError: unknown,
    firstCall: RecordCall,
    { permit, startedAt }: AdmittedCall,
  ): Promise<Outcome> {
    const { delivery, received } = firstCall;
    const retry = new DeliveryRetry(this.#retry, delivery, this.#runtime, this.#failures);
    const policy = this.#breaker
      ? wrap(new BreakerCall(this.#breaker, permit, startedAt, this.#runtime), retry)
      : wrap(retry);
    const call = ({ attempt, signal }: IRetryContext): Promise<Outcome> => {
      if (attempt === 1) throw toStopRetrying(firstError, firstCall);
      firstCall.failedCalls = attempt - 1;
      const next = new RecordCall(delivery, attempt, received);
      const callAgain = (): Promise<Outcome> => this.#callAgain(next, signal);
      return this.#logContexts ? this.#logContexts.runCall(next, callAgain) : callAgain();
    };
    try {
      return await policy.execute(call, delivery.waitSignal);
    } catch (error) {
      return isStopRetrying(error)
        ? this.#withCircuitBreakerDelay(error.outcome)
        : failedWith(error);
    }
  }

  /**
   * Calls the handler again. Rejects with the error of the handler, and with StopRetrying for any
   * other outcome than success.
   */
  async #callAgain(call: RecordCall, signal: AbortSignal): Promise<Outcome> {
    const prepared = await this.#preparation.prepare(call);
    // A pause may have begun, or the lease ended, during the preparation. Then no record may reach a
    // handler.
    if (signal.aborted || call.delivery.isCancelled)
      throw new StopRetrying(handedBackAfter(call.number - 1));
    if (prepared) throw new StopRetrying(withCalls(prepared, call.number - 1));
    let outcome: Outcome;
    try {
      const answer: unknown = await call.handler.invoke([call.record], [call.context]);
      outcome = call.context.outcomeAfterReturn(answer);
    } catch (error) {
      throw toStopRetrying(error, call);
    }
    if (outcome.kind !== 'succeeded') throw new StopRetrying(outcome);
    return outcome;
  }

  #sliceDone(
    slice: readonly RecordCall[],
    outcomes: readonly Outcome[],
    permit: Permit,
    startedAt: number,
  ): readonly Outcome[] {
    const judged = replaceFailures(outcomes, (failed, index) =>
      this.#applyRetryDecision(slice[index]!.delivery, failed),
    );
    if (this.#breaker)
      this.#settleBreaker(this.#breaker, decisiveOutcome(judged), permit, startedAt);
    return replaceFailures(judged, (failed) => this.#withCircuitBreakerDelay(failed));
  }

  #applyRetryDecision(delivery: Delivery, failed: FailedOutcome): Outcome {
    if (delivery.signal.aborted) return handedBack;
    const { error } = failed;
    // A reason that an earlier step has set is more precise than the error.
    if (failed.reason !== 'call-failed') return failed;
    const config = this.#sliceRetry;
    const decision = decideRetry(
      config,
      failedCall({ config, delivery, runtime: this.#runtime, error, call: 1 }),
    );
    if (decision.kind !== 'end')
      return { kind: 'failed', reason: 'redeliver', error, attempts: 1, delayMs: decision.waitMs };
    const failure = failedOutcomeOf(error, 1, decision);
    if (config.maxElapsedMs === 0) return failure;
    return { ...failure, failingSince: delivery.history.failingSince ?? this.#runtime.monotonic() };
  }

  /**
   * Removes the backoff of a record if the circuit breaker has paused its binding, because the
   * breaker then decides when the record is tried again. A backoff that grew during the outage
   * would still delay the partition after the circuit has closed.
   */
  #withCircuitBreakerDelay(outcome: Outcome): Outcome {
    const breaker = this.#breaker;
    if (outcome.kind !== 'failed' || !breaker?.automaticPauseOnOpen) return outcome;
    return breaker.state === 'CLOSED' || callResultOf(outcome) === 'ignored'
      ? outcome
      : { ...outcome, delayMs: 0 };
  }

  #circuitOpenOutcome(): Outcome {
    if (this.#breaker?.automaticPauseOnOpen) return retryWhileOpen;
    const error = new CircuitBreakerOpenException(this.#binding);
    return { kind: 'failed', reason: 'circuit-open', error, attempts: 0 };
  }
}

/** Copies the outcomes only if there is a failure. */
function replaceFailures(
  outcomes: readonly Outcome[],
  replace: (failed: FailedOutcome, index: number) => Outcome,
): readonly Outcome[] {
  if (!outcomes.some(isFailed)) return outcomes;
  return outcomes.map((outcome, index) => (isFailed(outcome) ? replace(outcome, index) : outcome));
}

/**
 * Returns the outcome that the breaker counts for a slice: the first failure that counts at all.
 * Otherwise a bad message could hide the failure of a dependency.
 */
function decisiveOutcome(outcomes: readonly Outcome[]): Outcome {
  const failed = outcomes.filter(({ kind }) => kind === 'failed');
  const counted = failed.find((outcome) => callResultOf(outcome) === 'failed');
  return counted ?? failed[0] ?? outcomes.at(-1) ?? succeeded;
}

/**
 * Sets the number of handler calls that were made before the preparation failed. `hasVaried` is true,
 * because the errors of these calls differ from the error of the preparation.
 */
function withCalls(outcome: Outcome, calls: number): Outcome {
  return outcome.kind === 'failed' ? { ...outcome, attempts: calls, hasVaried: true } : outcome;
}

function toStopRetrying(thrown: unknown, call: RecordCall): unknown {
  const outcome = outcomeSetBeforeThrow(call, thrown);
  return outcome ? new StopRetrying(outcome) : thrown;
}
