import { errorReasonOf, ownError } from '@nest-event-bus/broker';
import { within, type Runtime } from '@nest-event-bus/broker/runtime';
import { IdempotencyStoreException } from '../../errors/idempotency-errors.js';
import type {
  ClaimAnswer,
  IdempotencyStore,
} from '../../model/extension-points/idempotency-store.js';

export interface StoreCallsOptions {
  readonly binding: string;
  readonly store: IdempotencyStore;
  /** The time limit for one answer. */
  readonly timeoutMs: number;
  readonly runtime: Runtime;
}

const ANSWERS: readonly unknown[] = ['new', 'in-progress', 'done'] satisfies ClaimAnswer[];

/**
 * Calls a store that may throw, never answer or return an invalid answer. In each case the call
 * rejects with an IdempotencyStoreException within the time limit.
 */
export class StoreCalls {
  constructor(private readonly options: StoreCallsOptions) {}

  async claim(key: string, owner: string, leaseMs: number): Promise<ClaimAnswer> {
    const { store } = this.options;
    const claiming = promised(() => store.claim(key, owner, leaseMs));
    try {
      const answer = await this.#withTimeout('claim', claiming);
      if (!ANSWERS.includes(answer)) throw this.#failure('claim', invalidAnswer(answer));
      return answer;
    } catch (failure) {
      // A claim that is granted after the time limit is released. If that fails, its lease ends by
      // itself.
      claiming
        .then((late) => (late === 'new' ? store.release(key, owner) : undefined))
        .catch(() => undefined);
      throw failure;
    }
  }

  async complete(key: string, ttlMs: number): Promise<void> {
    const { store } = this.options;
    await this.#withTimeout(
      'complete',
      promised(() => store.complete(key, ttlMs)),
    );
  }

  async release(key: string, owner: string): Promise<void> {
    const { store } = this.options;
    await this.#withTimeout(
      'release',
      promised(() => store.release(key, owner)),
    );
  }

  async #withTimeout<T>(what: string, answer: Promise<T>): Promise<T> {
    const { runtime, timeoutMs } = this.options;
    try {
      return await within(runtime, timeoutMs, answer, () =>
        ownError(new Error(`no answer within ${timeoutMs} ms`)),
      );
    } catch (cause) {
      throw this.#failure(what, cause);
    }
  }

  #failure(what: string, cause: unknown): IdempotencyStoreException {
    return new IdempotencyStoreException(
      `The idempotency store of binding '${this.options.binding}' could not ${what} a record (${errorReasonOf(cause)}). Records wait until the store answers again, unless idempotency.onStoreFailure is 'process'.`,
      { cause },
    );
  }
}

async function promised<T>(call: () => T | PromiseLike<T>): Promise<T> {
  return call();
}

function invalidAnswer(answer: unknown): TypeError {
  const given = answer === null ? 'null' : typeof answer;
  return ownError(
    new TypeError(`it answered with ${given} instead of 'new', 'in-progress' or 'done'`),
  );
}
