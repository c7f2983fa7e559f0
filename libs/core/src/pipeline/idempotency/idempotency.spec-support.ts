import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import { EVENTBUS_DEFAULTS } from '../../config/defaults.js';
import type { ResolvedIdempotency } from '../../config/resolving/resolved-binding.js';
import type { Delivery } from '../../model/outcomes/delivery.js';
import type { GivenDelivery } from '../../model/outcomes/outcomes.spec-support.js';
import type { EventContext } from '../../model/records/event-context.js';
import type { EventRecord } from '../../model/records/event-record.js';
import type {
  ClaimAnswer,
  IdempotencyStore,
} from '../../model/extension-points/idempotency-store.js';
import type { Outcome, RecordProcessor } from '../../model/outcomes/outcome.js';
import {
  bindingOf,
  deliveryOf,
  handler,
  processorOf,
  recordingLogger,
  retryOf,
  type DeliveredRecord,
} from '../pipeline.spec-support.js';
import { memoryIdempotencyStore } from './memory-idempotency-store.js';

/** A store that can be down, hang and give invalid answers. */
export class FlakyStore implements IdempotencyStore {
  readonly asked: string[] = [];
  failures: Partial<Record<'claim' | 'complete' | 'release', () => unknown>> = {};
  readonly #store: IdempotencyStore;

  constructor(runtime: VirtualRuntime) {
    this.#store = memoryIdempotencyStore({ runtime });
  }

  claim(key: string, owner: string, leaseMs: number): ClaimAnswer {
    return this.#answer('claim', key, () => this.#store.claim(key, owner, leaseMs)) as ClaimAnswer;
  }

  complete(key: string, ttlMs: number): unknown {
    return this.#answer('complete', key, () => this.#store.complete(key, ttlMs));
  }

  release(key: string, owner: string): unknown {
    return this.#answer('release', key, () => this.#store.release(key, owner));
  }

  #answer(what: 'claim' | 'complete' | 'release', key: string, answer: () => unknown): unknown {
    this.asked.push(`${what} ${key.split('/').at(-1)}`);
    return (this.failures[what] ?? answer)();
  }
}

/** One binding with an idempotency store, and the offsets that its handler got. */
export class IdempotencyTest {
  readonly runtime = new VirtualRuntime({ startAt: 1_700_000_000_000 });
  readonly store = new FlakyStore(this.runtime);
  readonly logger = recordingLogger();
  readonly handled: number[] = [];
  handle: (record: EventRecord, context: EventContext) => unknown = () => undefined;

  readonly keep = handler((record: EventRecord, context) => {
    this.handled.push(Number(record.offset));
    return this.handle(record, context);
  });

  processor(
    given: Partial<ResolvedIdempotency> = {},
    handlers = [this.keep],
    retry = retryOf({ maxAttempts: 1 }),
  ): RecordProcessor {
    const { store, runtime, logger } = this;
    const idempotency = { ...EVENTBUS_DEFAULTS.binding.idempotency, store, ...given };
    return processorOf(handlers, { binding: bindingOf({ idempotency, retry }), runtime, logger });
  }

  /** Lets virtual time pass until the work is done. */
  async done<T>(work: T | Promise<T>): Promise<T> {
    const result = Promise.resolve(work);
    for (let turn = 0; turn < 200; turn++) await this.runtime.advance(50);
    return result;
  }
}

export const at = (
  offset: number,
  more: DeliveredRecord = {},
  rest: GivenDelivery = {},
): Delivery => deliveryOf({ offset, ...more }, rest);

export const down = () => {
  throw Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' });
};

export const already: Outcome = { kind: 'discarded', reason: 'already-processed' };
