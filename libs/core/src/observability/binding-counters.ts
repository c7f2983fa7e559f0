import type { AttemptCounts, BindingCounts } from '../model/states/binding-counts.js';
import { ATTEMPT_BOUNDS } from '../model/measures/bucket-bounds.js';
import { Histogram } from '../model/measures/histogram.js';
import type {
  EventBusEvent,
  EventBusEventName,
  RecordFailed,
} from '../model/events/event-bus-events.js';
import type { BindingObserver } from '../model/events/event-sink.js';
import type { CircuitTransition } from '../model/states/circuit-breaker.js';
import type { DltCause, DltReason } from '../model/records/dlt-record.js';
import { KnownValues } from './known-values.js';
import { LabelledCounter } from './labelled-counter.js';

/**
 * Maximal number of class names per binding, because class names of errors may be generated at run
 * time.
 */
const MAX_EXCEPTION_NAMES = 50;

type LocationLabels = Readonly<Record<'topic' | 'tier', string>>;

/**
 * Counts failures and rebalances of one binding, from its registration until it is destroyed. Containers count the
 * records that succeed.
 */
export class BindingCounters implements BindingCounts, BindingObserver {
  readonly observes: readonly EventBusEventName[] = [
    'record.failed',
    'record.retried',
    'record.dead-lettered',
    'record.recovered',
    'circuit.changed',
    'partitions.assigned',
    'partitions.revoked',
  ];
  readonly #exceptions = new KnownValues(MAX_EXCEPTION_NAMES);
  readonly #failures = new LabelledCounter<LocationLabels & { readonly exception: string }>();
  readonly #retries = new LabelledCounter<LocationLabels & { readonly to: string }>();
  readonly #deadLetters = new LabelledCounter<
    LocationLabels & { readonly reason: DltReason; readonly cause: DltCause }
  >();
  readonly #transitions = new LabelledCounter<Pick<CircuitTransition, 'from' | 'to' | 'cause'>>();

  readonly #rebalances = new LabelledCounter<Readonly<Record<'tier' | 'change', string>>>();
  readonly #attempts = new Map<number, { readonly calls: Histogram; recovered: number }>();

  observe(event: EventBusEvent): void {
    switch (event.name) {
      case 'record.failed': {
        // A delivery counts once, with its last call.
        if (event.next.kind === 'call-again') return;
        if (event.next.kind === 'discard') this.#ended(event);
        const exception = this.#exceptions.nameOf(event.exception.className);
        return this.#failures.increment({ ...locationLabels(event), exception });
      }
      case 'record.retried':
        return this.#retries.increment({ ...locationLabels(event), to: String(event.tier) });
      case 'record.dead-lettered': {
        const { reason, cause } = event;
        this.#ended(event);
        return this.#deadLetters.increment({ ...locationLabels(event), reason, cause });
      }
      case 'record.recovered':
        this.#ended(event).recovered++;
        return;
      case 'partitions.assigned':
        return this.#rebalances.increment({ tier: String(event.tier), change: 'assigned' });
      case 'partitions.revoked': {
        const change = event.isLost ? 'lost' : 'revoked';
        return this.#rebalances.increment({ tier: String(event.tier), change });
      }
      case 'circuit.changed': {
        const { from, to, cause } = event;
        return this.#transitions.increment({ from, to, cause });
      }
      default:
        return;
    }
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

  get rebalances(): BindingCounts['rebalances'] {
    return this.#rebalances.all;
  }

  get attempts(): readonly AttemptCounts[] {
    return [...this.#attempts].map(([tier, { calls, recovered }]) => ({
      tier: String(tier),
      values: calls.values,
      recovered,
    }));
  }

  /** Counts the calls of a record that had failed and is done now. */
  #ended({ attempt: { tier, total } }: Pick<RecordFailed, 'attempt'>) {
    let counted = this.#attempts.get(tier);
    if (!counted) {
      counted = { calls: new Histogram(ATTEMPT_BOUNDS), recovered: 0 };
      this.#attempts.set(tier, counted);
    }
    counted.calls.record(total);
    return counted;
  }
}

const locationLabels = ({
  record,
  attempt,
}: Pick<RecordFailed, 'record' | 'attempt'>): LocationLabels => ({
  topic: record.topic,
  tier: String(attempt.tier),
});
