import type { DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import { HandlerRefusedException } from '../../errors/handler-errors.js';
import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import type { EventBusEvent, RecordFailed } from '../../model/events/event-bus-events.js';
import type { BindingObserver } from '../../model/events/event-sink.js';
import { FailureGroup } from './failure-group.js';

export interface FailureLogParts {
  readonly binding: Pick<ResolvedBinding, 'name' | 'failureLog'>;
  readonly runtime: Pick<Runtime, 'setTimer' | 'monotonic'>;
  readonly logger: DriverLogger;
  /** The groups of all bindings that may still log something. */
  readonly openGroups: Set<FailureGroup>;
}

/**
 * Groups of a binding at the same time. Errors whose texts all differ share one more group, so that
 * they do not fill the log.
 */
const MAX_GROUPS = 20;

const OTHERS = 'others';

/** Logs each failed call and delivery of a binding once, and counts them in an outage. */
export class FailureLog implements BindingObserver {
  readonly observes = ['record.failed'] as const;
  readonly #groups = new Map<string, FailureGroup>();

  constructor(private readonly parts: FailureLogParts) {}

  observe(event: EventBusEvent): void {
    if (event.name !== 'record.failed') return;
    // A guard that refuses is logged elsewhere, as a lasting problem with its remedy.
    if (event.exception.className === HandlerRefusedException.name) return;
    if (this.parts.binding.failureLog.level === 'off' && !event.isFinal) return;
    this.#groupOf(event).add(event);
  }

  #groupOf(event: RecordFailed): FailureGroup {
    const { fingerprint } = event.exception;
    const own = this.#groups.get(fingerprint);
    if (own) return own;
    if (this.#groups.size < MAX_GROUPS) return this.#newGroup(fingerprint, event);
    return this.#groups.get(OTHERS) ?? this.#newGroup(OTHERS, event, 'other errors');
  }

  #newGroup(key: string, first: RecordFailed, label?: string): FailureGroup {
    const { binding, runtime, logger, openGroups } = this.parts;
    const { level, perGroupPerMinute: linesPerMinute } = binding.failureLog;
    const group: FailureGroup = new FailureGroup(
      {
        binding: binding.name,
        label,
        // With 'off', only final failures come here.
        level: level === 'off' ? 'warn' : level,
        linesPerMinute,
        runtime,
        logger,
        onEnd: () => {
          this.#groups.delete(key);
          openGroups.delete(group);
        },
      },
      first,
    );
    this.#groups.set(key, group);
    openGroups.add(group);
    return group;
  }
}
