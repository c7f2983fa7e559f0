import type { BindingCounts } from '../model/states/binding-counts.js';
import type { CircuitBreaker, CircuitTransition } from '../model/states/circuit-breaker.js';
import type { DltCause, DltReason } from '../model/records/dlt-record.js';
import type { FailureObserver, FailureLocation } from '../model/outcomes/failure-observer.js';
import { KnownValues } from './known-values.js';
import { LabelledCounter } from './labelled-counter.js';

/** Names of errors may be made up at run time. */
const MAX_EXCEPTIONS = 50;

type Placed = Readonly<Record<'topic' | 'tier', string>>;

/** Counts what happens to one binding, from its registration until it is destroyed. Records that succeed never come here. */
export class BindingCounters implements BindingCounts, FailureObserver {
  readonly #exceptions = new KnownValues(MAX_EXCEPTIONS);
  readonly #failures = new LabelledCounter<Placed & { readonly exception: string }>();
  readonly #retries = new LabelledCounter<Placed & { readonly to: string }>();
  readonly #deadLetters = new LabelledCounter<
    Placed & { readonly reason: DltReason; readonly cause: DltCause }
  >();
  readonly #transitions = new LabelledCounter<Pick<CircuitTransition, 'from' | 'to' | 'cause'>>();

  /** The breaker belongs to the same binding, and goes with it: nobody has to end the subscription. */
  constructor(breaker: Pick<CircuitBreaker, 'onTransition'> | undefined) {
    breaker?.onTransition(({ from, to, cause }) =>
      this.#transitions.increment({ from, to, cause }),
    );
  }

  failed(place: FailureLocation, exception: string): void {
    this.#failures.increment({ ...placed(place), exception: this.#exceptions.nameOf(exception) });
  }

  retried(place: FailureLocation, to: number): void {
    this.#retries.increment({ ...placed(place), to: String(to) });
  }

  deadLettered(place: FailureLocation, reason: DltReason, cause: DltCause): void {
    this.#deadLetters.increment({ ...placed(place), reason, cause });
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

const placed = ({ topic, tier }: FailureLocation): Placed => ({ topic, tier: String(tier) });
