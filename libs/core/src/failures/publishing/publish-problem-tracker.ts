import { errorNameOf, errorReasonOf, type DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import { defectContext } from '../../errors/texts/defect-context.js';
import type { OngoingProblems } from '../../problems/ongoing-problems.js';
import type { BindingEventSink } from '../../model/events/event-sink.js';
import type { PublishProblems, TopicProblem } from '../../model/outcomes/publish-problems.js';

/**
 * Time between two attempts after which a problem is outdated, not counting the attempts. A
 * partition never waits that long.
 */
const TRIED_WITHIN_MS = 120_000;

export interface PublishProblemTrackerParts {
  readonly binding: string;
  /** Timeout of one attempt. */
  readonly publishTimeoutMs: number;
  readonly problems: Pick<OngoingProblems, 'report' | 'end'>;
  readonly events: BindingEventSink;
  readonly runtime: Pick<Runtime, 'now'>;
  readonly logger: DriverLogger;
}

/**
 * Tracks the topics of one binding that cannot be written to, with one entry per topic. The
 * publishers of the binding share it.
 */
export class PublishProblemTracker implements PublishProblems {
  readonly #topics = new Map<string, TopicProblem>();
  readonly #listeners = new Set<() => void>();

  constructor(private readonly parts: PublishProblemTrackerParts) {}

  get all(): readonly TopicProblem[] {
    return [...this.#topics.values()].filter((problem) => this.#isCurrent(problem));
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** The message of the error names the record and says what to do. */
  failed(topic: string, error: Error): void {
    const now = this.parts.runtime.now();
    const earlier = this.#topics.get(topic);
    const known = earlier && this.#isCurrent(earlier) ? earlier : undefined;
    this.#topics.set(topic, { topic, error, since: known?.since ?? now, lastSeen: now });
    this.#report(topic, error);
    if (known) return;
    this.parts.events.emit('topic.write-failed', { topic, exceptionClass: errorNameOf(error) });
    this.#notifyListeners();
  }

  succeeded(topic: string): void {
    const known = this.#topics.get(topic);
    if (!known) return;
    this.#topics.delete(topic);
    this.parts.problems.end(keyOf(topic));
    const failedForMs = this.parts.runtime.now() - known.since;
    this.parts.events.emit('topic.write-recovered', { topic, failedForMs });
    this.#notifyListeners();
  }

  /** Called when the binding was stopped, because another process may have its records now. */
  clear(): void {
    if (this.#topics.size === 0) return;
    this.#topics.clear();
    this.#notifyListeners();
  }

  /**
   * Returns whether the last attempt is recent. If it is not, another process has the records now.
   */
  #isCurrent({ lastSeen }: TopicProblem): boolean {
    return this.parts.runtime.now() - lastSeen < this.#outdatedAfterMs;
  }

  get #outdatedAfterMs(): number {
    return TRIED_WITHIN_MS + this.parts.publishTimeoutMs;
  }

  #report(topic: string, error: Error): void {
    const { binding, problems } = this.parts;
    problems.report({
      key: keyOf(topic),
      message: errorReasonOf(error),
      ended: `Topic '${topic}' of binding '${binding}' can be written to again`,
      endedReports: `Nothing writes to topic '${topic}' of binding '${binding}' any more, so it is not known whether that is possible again`,
      context: { binding, to: topic },
      level: 'error',
      quietMs: this.#outdatedAfterMs,
    });
  }

  #notifyListeners(): void {
    for (const listener of this.#listeners) {
      try {
        listener();
      } catch (error) {
        this.parts.logger.error('A listener for publish problems threw', {
          binding: this.parts.binding,
          ...defectContext(error),
        });
      }
    }
  }
}

const keyOf = (topic: string): string => `write to ${topic}`;
