import type { BindingCounts } from '../model/states/binding-counts.js';
import type { CircuitBreaker, CircuitTransition } from '../model/states/circuit-breaker.js';
import type { DltCause, DltReason } from '../model/records/dlt-record.js';
import type { FailureObserver, FailureLocation } from '../model/outcomes/failure-observer.js';
import { KnownValues } from './known-values.js';
import { LabelledCounter } from './labelled-counter.js';

/** Limit of distinct labels, because class names of errors may be generated at run time. */
const MAX_EXCEPTION_NAMES = 50;

type LocationLabels = Readonly<Record<'topic' | 'tier', string>>;

/**
 * Counts failures of one binding from its registration until it is destroyed. Records that succeed
 * are counted by the containers.
 */
export class BindingCounters implements BindingCounts, FailureObserver {
  readonly #exceptions = new KnownValues(MAX_EXCEPTION_NAMES);
  readonly #failures = new LabelledCounter<LocationLabels & { readonly exception: string }>();
  readonly #retries = new LabelledCounter<LocationLabels & { readonly to: string }>();
  readonly #deadLetters = new LabelledCounter<
    LocationLabels & { readonly reason: DltReason; readonly cause: DltCause }
  >();
  readonly #transitions = new LabelledCounter<Pick<CircuitTransition, 'from' | 'to' | 'cause'>>();

  /** Subscribes to the breaker for good: it belongs to the same binding and is dropped together with it. */
  constructor(breaker: Pick<CircuitBreaker, 'onTransition'> | undefined) {
    breaker?.onTransition(({ from, to, cause }) =>
      this.#transitions.increment({ from, to, cause }),
    );
  }

  failed(location: FailureLocation, exception: string): void {
    this.#failures.increment({
      ...locationLabels(location),
      exception: this.#exceptions.nameOf(exception),
    });
  }

  retried(location: FailureLocation, to: number): void {
    this.#retries.increment({ ...locationLabels(location), to: String(to) });
  }

  deadLettered(location: FailureLocation, reason: DltReason, cause: DltCause): void {
    this.#deadLetters.increment({ ...locationLabels(location), reason, cause });
  }

  get failures(): BindingCounts['failures'] {
    return this.#failures.all;
  }

  get retries(): BindingCounts['retries'] {
    return this.#retries.all;
  }

  get deadLetters(): BindingCounts['deadLetters'] {
    return this.#deadLetters.all;
  }

  get transitions(): BindingCounts['transitions'] {
    return this.#transitions.all;
  }
}

const locationLabels = ({ topic, tier }: FailureLocation): LocationLabels => ({
  topic,
  tier: String(tier),
});
