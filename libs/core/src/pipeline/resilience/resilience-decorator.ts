import type { DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import { wrap, type IRetryContext } from 'cockatiel';
import { CircuitBreakerOpenException } from '../../errors/circuit-errors.js';
import { throwIfFailed } from '../../errors/result-errors.js';
import type { Delivery } from '../../model/outcomes/delivery.js';
import type { FailedOutcome } from '../../model/outcomes/failed-outcome.js';
import { handedBack, succeeded, type Outcome } from '../../model/outcomes/outcome.js';
import type { HandlerStep, RecordSource, SliceCall } from '../dispatch/handler-step.js';
import type { ReadyRecord } from '../dispatch/preparation.js';
import { isPromiseLike } from '../is-promise-like.js';
import { outcomeSetBeforeThrow } from '../dispatch/outcome-set-before-throw.js';
import { failedWith } from '../to-error.js';
import { BreakerCall, callResultOf } from './breaker-call.js';
import { StopRetrying } from './stop-retrying.js';
import { DeliveryRetry, failedCall } from './delivery-retry.js';
import {
  withSeekMode,
  RetryConfigFactory,
  type RetryConfig,
  type RetrySource,
} from './retry-config-factory.js';
import { decideRetry, failedOutcomeOf } from './retry-decision.js';
import { REFUSED, type Permit, type SlidingCircuitBreaker } from './sliding-circuit-breaker.js';

export interface ResilienceOptions {
  readonly binding: RetrySource;
  /** Of the binding: all its sessions and tiers share one. Left out where it has none. */
  readonly breaker?: SlidingCircuitBreaker;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

/** The call that the breaker, where there is one, has admitted. */
interface AdmittedCall {
  readonly permit: Permit;
  readonly startedAt: number;
}

const UNGUARDED: Permit = 0;

/**
 * Never tried, so nothing is counted; it comes again. The wait is of a fixed length: one that grew
 * during an outage would hold partitions up after the circuit has closed.
 */
const retryWhileOpen: Outcome = Object.freeze({ kind: 'handed-back', delayMs: 500 });

/**
 * breaker(retry(handler)), around one record or one slice.
 *
 * The first call is made directly, and its success told to the breaker directly: no promise, no
 * closure, no policy. Only a call that failed pays for cockatiel. Without a breaker nothing of it
 * is there, not even the clock is read.
 */
export class ResilienceDecorator implements HandlerStep {
  readonly #binding: string;
  readonly #breaker: SlidingCircuitBreaker | undefined;
  readonly #runtime: Runtime;
  readonly #retry: RetryConfig;
  readonly #sliceRetry: RetryConfig;

  constructor({ binding, breaker, runtime, logger }: ResilienceOptions) {
    this.#binding = binding.name;
    this.#breaker = breaker;
    this.#runtime = runtime;
    this.#retry = new RetryConfigFactory().create(binding, logger);
    this.#sliceRetry = withSeekMode(this.#retry);
  }

  /** Never throws. A promise only where the handler gives one, or fails. */
  invoke(ready: ReadyRecord, source: RecordSource): Outcome | Promise<Outcome> {
    const permit = this.#breaker === undefined ? UNGUARDED : this.#breaker.admit();
    if (permit === REFUSED) return this.#circuitOpenOutcome();
    const startedAt = this.#breaker === undefined ? 0 : this.#runtime.monotonic();
    try {
      const result = ready.handler.invoke([ready.record], [ready.context]);
      return isPromiseLike(result)
        ? this.#concludeLater(result, ready, source, { permit, startedAt })
        : this.#conclude(result, ready, permit, startedAt);
    } catch (error) {
      return this.#retryAfter(error, ready, source, { permit, startedAt });
    }
  }

  /** The handler takes all of these records in one call, which does not throw. For each delivery it gets one. */
  invokeSlice(
    slice: readonly ReadyRecord[],
    call: SliceCall,
  ): readonly Outcome[] | Promise<readonly Outcome[]> {
    const permit = this.#breaker === undefined ? UNGUARDED : this.#breaker.admit();
    if (permit === REFUSED)
      return slice.map((_, index) => (index === 0 ? this.#circuitOpenOutcome() : handedBack));
    const startedAt = this.#breaker === undefined ? 0 : this.#runtime.monotonic();
    const outcomes = call(slice);
    return isPromiseLike(outcomes)
      ? outcomes.then((settled) => this.#sliceDone(slice, settled, permit, startedAt))
      : this.#sliceDone(slice, outcomes, permit, startedAt);
  }

  /** Throws where the answer says that the handler failed. */
  #conclude(result: unknown, ready: ReadyRecord, permit: Permit, startedAt: number): Outcome {
    throwIfFailed(result);
    return this.#settleBreaker(ready.context.outcomeAfterReturn(), permit, startedAt);
  }

  /** Not awaited: an async function for each record would take more time than the breaker and the retries. */
  #concludeLater(
    result: PromiseLike<unknown>,
    ready: ReadyRecord,
    source: RecordSource,
    pass: AdmittedCall,
  ): Promise<Outcome> {
    const fail = (error: unknown): Promise<Outcome> => this.#retryAfter(error, ready, source, pass);
    return Promise.resolve(result).then((answer) => {
      try {
        return this.#conclude(answer, ready, pass.permit, pass.startedAt);
      } catch (error) {
        return fail(error);
      }
    }, fail);
  }

  #settleBreaker(outcome: Outcome, permit: Permit, startedAt: number): Outcome {
    if (this.#breaker)
      this.#breaker.settle(permit, callResultOf(outcome), this.#runtime.monotonic() - startedAt);
    return outcome;
  }

  /** The policies see the first call as one of theirs: it fails with what it failed with. */
  async #retryAfter(
    firstError: unknown,
    ready: ReadyRecord,
    source: RecordSource,
    { permit, startedAt }: AdmittedCall,
  ): Promise<Outcome> {
    const { delivery } = ready;
    const retry = new DeliveryRetry(this.#retry, delivery, this.#runtime);
    const policy = this.#breaker
      ? wrap(new BreakerCall(this.#breaker, permit, startedAt, this.#runtime), retry)
      : wrap(retry);
    const call = ({ attempt, signal }: IRetryContext): Promise<Outcome> => {
      if (attempt === 1) throw toStopRetrying(firstError, ready);
      return callAgain(delivery, source, attempt, signal);
    };
    try {
      return await policy.execute(call, delivery.waitSignal);
    } catch (error) {
      return error instanceof StopRetrying
        ? this.#withCircuitBreakerDelay(error.outcome)
        : failedWith(error);
    }
  }

  #sliceDone(
    slice: readonly ReadyRecord[],
    outcomes: readonly Outcome[],
    permit: Permit,
    startedAt: number,
  ): readonly Outcome[] {
    const judged = outcomes.map((outcome, index) =>
      outcome.kind === 'failed'
        ? this.#applyRetryDecision(slice[index]!.delivery, outcome)
        : outcome,
    );
    this.#settleBreaker(decisiveOutcome(judged), permit, startedAt);
    return judged.map((outcome) => this.#withCircuitBreakerDelay(outcome));
  }

  #applyRetryDecision(delivery: Delivery, failed: FailedOutcome): Outcome {
    if (delivery.signal.aborted) return handedBack;
    const { error } = failed;
    // Whoever gave it knows more than the error tells.
    if (failed.reason !== 'call-failed') return failed;
    const config = this.#sliceRetry;
    const decision = decideRetry(
      config,
      failedCall({ config, delivery, runtime: this.#runtime, error, call: 1 }),
    );
    return decision.kind === 'end'
      ? failedOutcomeOf(error, 1, decision)
      : { kind: 'failed', reason: 'redeliver', error, attempts: 1, delayMs: decision.waitMs };
  }

  /**
   * Where the circuit pauses the binding, it decides when the record is tried again. A backoff of
   * its own, which grew during the outage, would hold its partition up after the circuit has closed.
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

/** A bad message among them says nothing of what the handler needs, and must not hide what another failure says. */
function decisiveOutcome(outcomes: readonly Outcome[]): Outcome {
  const failed = outcomes.filter(({ kind }) => kind === 'failed');
  const counted = failed.find((outcome) => callResultOf(outcome) === 'failed');
  return counted ?? failed[0] ?? outcomes.at(-1) ?? succeeded;
}

/** Rejects with what the handler throws, or with StopRetrying where it ends otherwise than by success. */
async function callAgain(
  delivery: Delivery,
  source: RecordSource,
  call: number,
  signal: AbortSignal,
): Promise<Outcome> {
  const prepared = await source.prepare(delivery, call);
  // Preparing may take its time, and a pause promises that nothing reaches a handler after it.
  if (signal.aborted || delivery.isCancelled) throw new StopRetrying(handedBack);
  if (prepared.kind !== 'ready') throw new StopRetrying(withCalls(prepared, call - 1));
  try {
    throwIfFailed(await prepared.handler.invoke([prepared.record], [prepared.context]));
  } catch (error) {
    throw toStopRetrying(error, prepared);
  }
  const outcome = prepared.context.outcomeAfterReturn();
  if (outcome.kind !== 'succeeded') throw new StopRetrying(outcome);
  return outcome;
}

/** Those that were made before it could not be prepared for another one count; its error is not theirs. */
function withCalls(outcome: Outcome, calls: number): Outcome {
  return outcome.kind === 'failed' ? { ...outcome, attempts: calls, hasVaried: true } : outcome;
}

function toStopRetrying(thrown: unknown, ready: ReadyRecord): unknown {
  const outcome = outcomeSetBeforeThrow(ready, thrown);
  return outcome ? new StopRetrying(outcome) : thrown;
}
