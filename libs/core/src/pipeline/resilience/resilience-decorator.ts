import type { Runtime } from '@nest-event-bus/broker/runtime';
import { wrap, type IRetryContext } from 'cockatiel';
import { CircuitBreakerOpenException } from '../../errors/circuit-errors.js';
import type { Delivery } from '../../model/outcomes/delivery.js';
import {
  handedBack,
  succeeded,
  type FailedOutcome,
  type Outcome,
} from '../../model/outcomes/outcome.js';
import { andThen, isPromiseLike } from '../and-then.js';
import { invokeBatch } from '../batches/invoke-batch.js';
import { outcomeSetBeforeThrow } from '../context/outcome-set-before-throw.js';
import type { PipelineStep } from '../pipeline-step.js';
import type { Preparation } from '../preparation/preparation.js';
import { RecordCall } from '../record-call.js';
import { failedWith } from '../to-error.js';
import { BreakerCall, callResultOf } from './breaker-call.js';
import { StopRetrying } from './stop-retrying.js';
import { DeliveryRetry, failedCall, waitSignalOf } from './delivery-retry.js';
import { withSeekMode, type RetryConfig } from './retry-config-factory.js';
import { decideRetry, failedOutcomeOf } from './retry-decision.js';
import { REFUSED, type Permit, type SlidingCircuitBreaker } from './sliding-circuit-breaker.js';

export interface ResilienceOptions {
  readonly binding: string;
  /** Shared by all sessions and retry tiers of the binding. Left out if the binding has none. */
  readonly breaker?: SlidingCircuitBreaker;
  readonly retry: RetryConfig;
  /** Prepares the record again before another call. */
  readonly preparation: Pick<Preparation, 'prepare'>;
  readonly runtime: Runtime;
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
export class ResilienceDecorator implements PipelineStep {
  readonly #binding: string;
  readonly #breaker: SlidingCircuitBreaker | undefined;
  readonly #runtime: Runtime;
  readonly #retry: RetryConfig;
  readonly #sliceRetry: RetryConfig;
  readonly #preparation: Pick<Preparation, 'prepare'>;

  constructor({ binding, breaker, retry, preparation, runtime }: ResilienceOptions) {
    this.#binding = binding;
    this.#breaker = breaker;
    this.#runtime = runtime;
    this.#retry = retry;
    this.#sliceRetry = withSeekMode(retry);
    this.#preparation = preparation;
  }

  /** Never throws. Returns a promise only if the handler does, or fails. */
  process(call: RecordCall): Outcome | Promise<Outcome> {
    const permit = this.#breaker === undefined ? UNGUARDED : this.#breaker.admit();
    if (permit === REFUSED) return this.#circuitOpenOutcome();
    const startedAt = this.#breaker === undefined ? 0 : this.#runtime.monotonic();
    try {
      const result = call.invoke();
      return isPromiseLike(result)
        ? this.#concludeLater(result, call, { permit, startedAt })
        : this.#settleBreaker(call.conclude(result), permit, startedAt);
    } catch (error) {
      return this.#retryAfter(error, call, { permit, startedAt });
    }
  }

  /** Calls the handler once with all of these records. There is one such call per delivery. */
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

  /** Not awaited: an async function for each record would take more time than the breaker and the retries. */
  #concludeLater(
    result: PromiseLike<unknown>,
    call: RecordCall,
    admitted: AdmittedCall,
  ): Promise<Outcome> {
    const fail = (error: unknown): Promise<Outcome> => this.#retryAfter(error, call, admitted);
    return Promise.resolve(result).then((answer) => {
      try {
        return this.#settleBreaker(call.conclude(answer), admitted.permit, admitted.startedAt);
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
    firstCall: RecordCall,
    { permit, startedAt }: AdmittedCall,
  ): Promise<Outcome> {
    const { delivery } = firstCall;
    const retry = new DeliveryRetry(this.#retry, delivery, this.#runtime);
    const policy = this.#breaker
      ? wrap(new BreakerCall(this.#breaker, permit, startedAt, this.#runtime), retry)
      : wrap(retry);
    const call = ({ attempt, signal }: IRetryContext): Promise<Outcome> => {
      if (attempt === 1) throw toStopRetrying(firstError, firstCall);
      return this.#callAgain(new RecordCall(delivery, attempt), signal);
    };
    try {
      return await policy.execute(call, waitSignalOf(delivery));
    } catch (error) {
      return error instanceof StopRetrying
        ? this.#withCircuitBreakerDelay(error.outcome)
        : failedWith(error);
    }
  }

  /** Rejects with what the handler throws, and with StopRetrying for any other outcome than success. */
  async #callAgain(call: RecordCall, signal: AbortSignal): Promise<Outcome> {
    const prepared = await this.#preparation.prepare(call);
    // The preparation took time. After a pause no record may reach a handler.
    if (signal.aborted) throw new StopRetrying(handedBack);
    if (prepared) throw new StopRetrying(withCalls(prepared, call.number - 1));
    let outcome: Outcome;
    try {
      outcome = call.conclude(await call.invoke());
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
    if (failed.ending !== undefined) return failed;
    const config = this.#sliceRetry;
    const decision = decideRetry(
      config,
      failedCall({ config, delivery, runtime: this.#runtime, error, call: 1 }),
    );
    return decision.kind === 'end' ? failedOutcomeOf(error, 1, decision) : failedWith(error);
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
    return { kind: 'failed', error, attempts: 0, ending: 'circuit-open' };
  }
}

/** A bad message among them says nothing of what the handler needs, and must not hide what another failure says. */
function decisiveOutcome(outcomes: readonly Outcome[]): Outcome {
  const failed = outcomes.filter(({ kind }) => kind === 'failed');
  const counted = failed.find((outcome) => callResultOf(outcome) === 'failed');
  return counted ?? failed[0] ?? outcomes.at(-1) ?? succeeded;
}

/** Those that were made before it could not be prepared for another one count; its error is not theirs. */
function withCalls(outcome: Outcome, calls: number): Outcome {
  return outcome.kind === 'failed' ? { ...outcome, attempts: calls, hasVaried: true } : outcome;
}

function toStopRetrying(thrown: unknown, call: RecordCall): unknown {
  const outcome = outcomeSetBeforeThrow(call, thrown);
  return outcome ? new StopRetrying(outcome) : thrown;
}
