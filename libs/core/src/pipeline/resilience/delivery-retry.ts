import { sleep, type Runtime } from '@nest-event-bus/broker/runtime';
import type { IRetryContext } from 'cockatiel';
import { read, textOf } from '../../failures/faults/thrown.js';
import type { Delivery } from '../../model/outcomes/delivery.js';
import type { Failure } from '../../model/outcomes/failed-outcome.js';
import { handedBackAfter } from '../../model/outcomes/outcome.js';
import type { RoutesFailures } from '../routing/failure-routing-step.js';
import { toError } from '../to-error.js';
import { isStopRetrying, StopRetrying } from './stop-retrying.js';
import { DeliveryPolicy } from './delivery-policy.js';
import type { RetryConfig } from './retry-config-factory.js';
import { decideRetry, failedOutcomeOf, type FailedCall } from './retry-decision.js';

/**
 * Retries the handler calls of one delivery. Used instead of the retry policy of cockatiel, whose
 * wait cannot be aborted and always uses the system clock.
 */
export class DeliveryRetry extends DeliveryPolicy<IRetryContext> {
  constructor(
    private readonly config: RetryConfig,
    private readonly delivery: Delivery,
    private readonly runtime: Runtime,
    /** Called after each failed call after which the handler is called again. */
    private readonly failures: Pick<RoutesFailures, 'onCallFailed'> = {},
  ) {
    super();
  }

  /** Rejects with StopRetrying. `attempt` counts from 1. */
  async execute<T>(
    call: (context: IRetryContext) => PromiseLike<T> | T,
    signal: AbortSignal = this.delivery.waitSignal,
  ): Promise<T> {
    let firstWay: string | undefined;
    let hasVaried = false;
    let firstFailedAt: number | undefined;
    let { failingSince } = this.delivery.history;
    for (let attempt = 1; ; attempt++) {
      try {
        return await call({ attempt, signal });
      } catch (thrown) {
        if (isStopRetrying(thrown)) throw thrown;
        const error = toError(thrown);
        firstFailedAt ??= this.runtime.now();
        if (this.config.maxElapsedMs > 0) failingSince ??= this.runtime.monotonic();
        firstWay ??= failureSignature(error);
        hasVaried ||= failureSignature(error) !== firstWay;
        await this.#waitFor(attempt, error, signal, {
          ...(failingSince !== undefined && { failingSince }),
          ...(attempt > 1 && { firstFailedAt }),
          ...(hasVaried && { hasVaried }),
        });
      }
    }
  }

  async #waitFor(
    call: number,
    error: Error,
    signal: AbortSignal,
    history: Pick<Failure, 'firstFailedAt' | 'failingSince' | 'hasVaried'>,
  ): Promise<void> {
    const { config, delivery, runtime } = this;
    // An error that a handler throws because its work was cancelled is not counted as a failure.
    if (delivery.signal.aborted) throw new StopRetrying(handedBackAfter(call - 1));
    const { failingSince } = history;
    const decision = decideRetry(
      config,
      failedCall({ config, delivery, runtime, error, call, failingSince }),
    );
    switch (decision.kind) {
      case 'end':
        throw new StopRetrying({
          ...failedOutcomeOf(error, call, decision),
          ...history,
        });
      case 'call-again':
        this.failures.onCallFailed?.(
          delivery,
          { kind: 'failed', reason: 'redeliver', error, attempts: call, ...history },
          { call: call + 1, of: config.maxAttempts, inMs: decision.waitMs },
        );
        await sleep(runtime, decision.waitMs, signal).catch(() => undefined);
        if (signal.aborted || delivery.isCancelled) throw new StopRetrying(handedBackAfter(call));
    }
  }
}

/**
 * Returns the name and message of an error, for comparing failures. The error may be a proxy, or
 * have getters that throw.
 */
function failureSignature(error: Error): string {
  return `${textOf(read(error, 'name'))}\n${textOf(read(error, 'message'))}`;
}

export function failedCall({
  config,
  delivery,
  runtime,
  error,
  call,
  failingSince = delivery.history.failingSince,
}: {
  readonly config: RetryConfig;
  readonly delivery: Delivery;
  readonly runtime: Runtime;
  readonly error: Error;
  readonly call: number;
  /** Time of the first failed call, by the monotonic clock, if the time of the calls is limited. */
  readonly failingSince?: number | undefined;
}): FailedCall {
  return {
    judgement: config.judge(error),
    call,
    failures: delivery.history.failures,
    // The monotonic clock is used, because a change of the system clock during a call must not end
    // the retries.
    elapsedMs: runtime.monotonic() - delivery.readySince,
    failingMs: failingSince === undefined ? 0 : runtime.monotonic() - failingSince,
    chance: runtime.random(),
  };
}
