import { errorReasonOf } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import { errorContext } from '../../errors/texts/error-context.js';
import type { IdempotencyStore } from '../../model/extension-points/idempotency-store.js';
import type { FailedOutcome } from '../../model/outcomes/failed-outcome.js';
import { DUPLICATE, succeeded, type Outcome } from '../../model/outcomes/outcome.js';
import type { RecordCall } from '../record-call.js';
import { toError } from '../to-error.js';
import { createRecordKeys, type RecordKeys } from './store-key.js';
import { StoreCalls } from './store-calls.js';
import { UnmarkedRecords } from './unmarked-records.js';

/** The right to handle a record, until its lease ends. */
export interface Claim {
  readonly kind: 'claimed';
  readonly key: string;
  readonly owner: string;
  readonly call: RecordCall;
  /** Time of the claim, on the monotonic clock. */
  readonly since: number;
}

export interface RecordClaimsOptions {
  readonly binding: ResolvedBinding;
  readonly store: IdempotencyStore;
  readonly runtime: Runtime;
}

export const alreadyProcessed: Outcome = Object.freeze({
  kind: 'discarded',
  reason: DUPLICATE,
});

/** The longest delay before the store is asked again about a record that another owner handles. */
const MAX_CLAIM_RETRY_MS = 1_000;

/**
 * Claims a record before its handler is called, and marks it in the store when it is done.
 *
 *   claim ──► new ──► handler ──► done ─────────► complete ──► final
 *     │                  │                           └── store down: waits, is marked when delivered again
 *     │                  └── failed, handed back ──► release
 *     ├──► in-progress: handed back
 *     └──► done: discarded
 */
export class RecordClaims {
  readonly #binding: ResolvedBinding;
  readonly #runtime: Runtime;
  readonly #keys: RecordKeys;
  readonly #calls: StoreCalls;
  readonly #instance: string;
  readonly #unmarked: UnmarkedRecords;
  #claims = 0;
  #isStoreDown = false;

  constructor({ binding, store, runtime }: RecordClaimsOptions) {
    const { timeoutMs, ttlMs } = binding.idempotency;
    this.#binding = binding;
    this.#runtime = runtime;
    this.#keys = createRecordKeys(binding);
    this.#calls = new StoreCalls({ binding: binding.name, store, timeoutMs, runtime });
    this.#unmarked = new UnmarkedRecords(ttlMs, runtime);
    this.#instance = runtime.uuid();
  }

  /**
   * Returns the key of the record. A record without a key fails as a bad message, because it could
   * be handled twice without anyone noticing.
   */
  keyOf(call: RecordCall): string | FailedOutcome {
    try {
      return this.#keys(call);
    } catch (error) {
      return { kind: 'failed', reason: 'bad-message', error: toError(error), attempts: 0 };
    }
  }

  /**
   * Claims the record. Returns an outcome instead if the record must not be passed to its handler.
   */
  async claim(key: string, call: RecordCall): Promise<Claim | Outcome> {
    if (this.#unmarked.has(key)) return this.#complete(key, succeeded, call);
    const { leaseMs } = this.#binding.idempotency;
    const owner = `${this.#instance}-${++this.#claims}`;
    const claim: Claim = { kind: 'claimed', key, owner, call, since: this.#runtime.monotonic() };
    try {
      const answer = await this.#calls.claim(key, owner, leaseMs);
      this.#isStoreDown = false;
      switch (answer) {
        case 'new':
          return claim;
        case 'in-progress':
          return { kind: 'handed-back', delayMs: Math.min(leaseMs, MAX_CLAIM_RETRY_MS) };
        case 'done':
          return alreadyProcessed;
      }
    } catch (error) {
      return this.#failsWithoutStore
        ? storeUnavailable(error)
        : this.#processWithoutClaim(claim, error);
    }
  }

  /**
   * Marks a record that is done, and releases the claim of any other. Returns a failure if the
   * store failed.
   */
  async settle(claim: Claim, outcome: Outcome): Promise<Outcome> {
    const { key, call } = claim;
    this.#warnIfLeaseExceeded(claim);
    if (outcome.kind === 'succeeded' || outcome.kind === 'discarded')
      return this.#complete(key, outcome, call);
    try {
      await this.#calls.release(key, claim.owner);
    } catch (error) {
      this.#warn(call, 'The record could not be released: it waits until its lease ends', error);
    }
    return outcome;
  }

  get #failsWithoutStore(): boolean {
    return this.#binding.idempotency.onStoreFailure === 'fail';
  }

  async #complete(key: string, outcome: Outcome, call: RecordCall): Promise<Outcome> {
    try {
      await this.#calls.complete(key, this.#binding.idempotency.ttlMs);
      this.#unmarked.delete(key);
      return outcome;
    } catch (error) {
      this.#warn(
        call,
        'The record is done and could not be marked: another process would handle it again',
        error,
      );
      if (!this.#failsWithoutStore) return outcome;
      this.#unmarked.add(key);
      return storeUnavailable(error);
    }
  }

  /**
   * Handles a record without a claim, because the store is down. Logs the outage once until the
   * store answers again.
   */
  #processWithoutClaim(claim: Claim, error: unknown): Claim {
    if (!this.#isStoreDown)
      this.#warn(
        claim.call,
        'The idempotency store does not answer: from this record on some may be handled twice',
        error,
      );
    this.#isStoreDown = true;
    return claim;
  }

  #warnIfLeaseExceeded({ since, call }: Claim): void {
    const { leaseMs } = this.#binding.idempotency;
    const tookMs = Math.round(this.#runtime.monotonic() - since);
    if (tookMs <= leaseMs) return;
    call.context.log.warn(
      'The handler took longer than idempotency.leaseMs: others may have handled the record at the same time',
      { tookMs, leaseMs },
    );
  }

  #warn({ context }: RecordCall, message: string, error: unknown): void {
    const { cause } = toError(error);
    context.log.warn(message, {
      reason: errorReasonOf(error),
      ...(cause !== undefined && { cause: errorContext(cause, this.#binding.dlt) }),
    });
  }
}

/**
 * Returns a failure that redelivers the record instead of routing it, because no handler call has
 * failed.
 */
function storeUnavailable(error: unknown): FailedOutcome {
  return { kind: 'failed', reason: 'redeliver', error: toError(error), attempts: 0 };
}
