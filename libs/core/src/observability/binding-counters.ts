import type { BindingCounts } from '../model/states/binding-counts.js';
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
 * Counts failures of one binding, from its registration until it is destroyed. Containers count the
 * records that succeed.
 */
export class BindingCounters implements BindingCounts, BindingObserver {
  readonly observes: readonly EventBusEventName[] = [
    'record.failed',
    'record.retried',
    'record.dead-lettered',
    'circuit.changed',
  ];
  readonly #exceptions = new KnownValues(MAX_EXCEPTION_NAMES);
  readonly #failures = new LabelledCounter<LocationLabels & { readonly exception: string }>();
  readonly #retries = new LabelledCounter<LocationLabels & { readonly to: string }>();
  readonly #deadLetters = new LabelledCounter<
    LocationLabels & { readonly reason: DltReason; readonly cause: DltCause }
  >();
  readonly #transitions = new LabelledCounter<Pick<CircuitTransition, 'from' | 'to' | 'cause'>>();

  observe(event: EventBusEvent): void {
    switch (event.name) {
      case 'record.failed': {
        // A delivery counts once, with its last call.
        if (event.next.kind === 'call-again') return;
        const exception = this.#exceptions.nameOf(event.exception.className);
        return this.#failures.increment({ ...locationLabels(event), exception });
      }
      case 'record.retried':
        return this.#retries.increment({ ...locationLabels(event), to: String(event.tier) });
      case 'record.dead-lettered': {
        const { reason, cause } = event;
        return this.#deadLetters.increment({ ...locationLabels(event), reason, cause });
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
}

const locationLabels = ({
  record,
  attempt,
}: Pick<RecordFailed, 'record' | 'attempt'>): LocationLabels => ({
  topic: record.topic,
  tier: String(attempt.tier),
});
