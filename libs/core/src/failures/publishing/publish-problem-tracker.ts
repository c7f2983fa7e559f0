import type { DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { PublishProblems, TopicProblem } from '../../model/outcomes/publish-problems.js';

/** Longer than a partition ever waits between two attempts, not counting the attempt itself. */
const TRIED_WITHIN_MS = 120_000;

/** Tracks the topics of one binding that cannot be written to. Shared by its publishers; one entry per topic. */
export class PublishProblemTracker implements PublishProblems {
  readonly #topics = new Map<string, TopicProblem>();
  readonly #listeners = new Set<() => void>();

  constructor(
    private readonly binding: string,
    /** Timeout of one attempt. */
    private readonly publishTimeoutMs: number,
    private readonly runtime: Pick<Runtime, 'now'>,
    private readonly logger: DriverLogger,
  ) {}

  get all(): readonly TopicProblem[] {
    return [...this.#topics.values()].filter((problem) => this.#isCurrent(problem));
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Logs only the first error of a topic: its message names the record and says what to do. */
  failed(topic: string, error: Error): void {
    const now = this.runtime.now();
    const earlier = this.#topics.get(topic);
    const known = earlier && this.#isCurrent(earlier) ? earlier : undefined;
    this.#topics.set(topic, { topic, error, since: known?.since ?? now, lastSeen: now });
    if (known) return;
    this.logger.error(error.message, { binding: this.binding, to: topic });
    this.#notifyListeners();
  }

  succeeded(topic: string): void {
    const known = this.#topics.get(topic);
    if (!known) return;
    this.#topics.delete(topic);
    this.logger.info(`Topic '${topic}' of binding '${this.binding}' can be written to again`, {
      binding: this.binding,
      to: topic,
      afterMs: this.runtime.now() - known.since,
    });
    this.#notifyListeners();
  }

  /** Called when the binding was stopped: another process has its records now. */
  clear(): void {
    if (this.#topics.size === 0) return;
    this.#topics.clear();
    this.#notifyListeners();
  }

  /** Checks for a recent attempt. Without one, another process has the records by now. */
  #isCurrent({ lastSeen }: TopicProblem): boolean {
    return this.runtime.now() - lastSeen < TRIED_WITHIN_MS + this.publishTimeoutMs;
  }

  #notifyListeners(): void {
    for (const listener of this.#listeners) {
      try {
        listener();
      } catch (error) {
        this.logger.error('A listener for publish problems threw', {
          binding: this.binding,
          error: String(error),
        });
      }
    }
  }
}
