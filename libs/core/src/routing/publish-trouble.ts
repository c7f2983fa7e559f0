import type { DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { PublishTroubles, TopicTrouble } from '../model/publish-trouble.js';

/** Of one binding, shared by its publishers. At most one entry for each of its topics. */
export class PublishTrouble implements PublishTroubles {
  readonly #topics = new Map<string, TopicTrouble>();
  readonly #listeners = new Set<() => void>();

  constructor(
    private readonly binding: string,
    private readonly runtime: Pick<Runtime, 'now'>,
    private readonly logger: DriverLogger,
  ) {}

  get all(): readonly TopicTrouble[] {
    return [...this.#topics.values()];
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  failed(topic: string, error: Error): void {
    const now = this.runtime.now();
    const known = this.#topics.get(topic);
    this.#topics.set(topic, { topic, error, since: known?.since ?? now, lastSeen: now });
    if (!known) this.#tell();
  }

  succeeded(topic: string): void {
    if (this.#topics.delete(topic)) this.#tell();
  }

  /** The binding was stopped: what it could not write is somebody else's now. */
  clear(): void {
    if (this.#topics.size === 0) return;
    this.#topics.clear();
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) {
      try {
        listener();
      } catch (error) {
        this.logger.error('A listener for the trouble of topics threw', {
          binding: this.binding,
          error: String(error),
        });
      }
    }
  }
}
