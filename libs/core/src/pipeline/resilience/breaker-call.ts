import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { IDefaultPolicyContext } from 'cockatiel';
import { HandlerRefusedException } from '../../errors/handler-errors.js';
import type { Outcome } from '../../model/outcomes/outcome.js';
import { isOneOf } from '../../failures/faults/thrown.js';
import { isStopRetrying } from './stop-retrying.js';
import { DeliveryPolicy } from './delivery-policy.js';
import type { CallResult, Permit, SlidingCircuitBreaker } from './sliding-circuit-breaker.js';

/** A call that the breaker has admitted. Reports the result to the breaker. */
export class BreakerCall extends DeliveryPolicy<IDefaultPolicyContext> {
  constructor(
    private readonly breaker: SlidingCircuitBreaker,
    private readonly permit: Permit,
    private readonly startedAt: number,
    private readonly runtime: Runtime,
  ) {
    super();
  }

  async execute<T>(
    call: (context: IDefaultPolicyContext) => PromiseLike<T> | T,
    signal: AbortSignal = new AbortController().signal,
  ): Promise<T> {
    try {
      const value = await call({ signal });
      this.#settle('succeeded');
      return value;
    } catch (thrown) {
      this.#settle(isStopRetrying(thrown) ? callResultOf(thrown.outcome) : 'failed');
      throw thrown;
    }
  }

  #settle(result: CallResult): void {
    this.breaker.settle(this.permit, result, this.runtime.monotonic() - this.startedAt);
  }
}

/**
 * Returns how the breaker counts an outcome. A record that was bad, dead-lettered by its handler,
 * handed back or refused by a guard says nothing about the dependencies of the handler. The breaker
 * counts it neither as a success nor as a failure.
 */
export function callResultOf(outcome: Outcome): CallResult {
  switch (outcome.kind) {
    case 'succeeded':
      return 'succeeded';
    case 'discarded':
    case 'retried':
    case 'dead-lettered':
    case 'handed-back':
      return 'ignored';
    case 'failed': {
      const { reason, error } = outcome;
      const isIgnored = reason === 'bad-message' || reason === 'handler-gave-up';
      return isIgnored || isOneOf(error, [HandlerRefusedException]) ? 'ignored' : 'failed';
    }
  }
}
