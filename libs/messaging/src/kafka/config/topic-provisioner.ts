import type { BrokerDriver, DriverLogger, NewTopic } from '@nest-event-bus/broker';
import { errorReasonOf } from '@nest-event-bus/broker';
import { Backoff, resolvesWithin, sleep, type Runtime } from '@nest-event-bus/broker/runtime';

const BACKOFF = { initialMs: 1_000, maxMs: 30_000 };

/** How long the start of the application waits for the topics. */
const START_WAIT_MS = 10_000;

/**
 * Creates missing topics at the start. Existing topics are not changed. A broker that cannot be
 * reached does not stop the application: the attempts go on in the background.
 */
export class TopicProvisioner {
  readonly #closed = new AbortController();
  #done: Promise<void> | undefined;

  constructor(
    private readonly driver: BrokerDriver,
    private readonly topics: readonly NewTopic[],
    private readonly runtime: Runtime,
    private readonly logger: DriverLogger,
  ) {}

  /** Resolves when the topics exist, or after ten seconds. */
  async start(): Promise<void> {
    this.#done ??= this.#createUntilDone();
    await resolvesWithin(this.runtime, START_WAIT_MS, this.#done);
  }

  /** Resolves when the topics exist, or the provisioner is closed. */
  get done(): Promise<void> {
    return this.#done ?? Promise.resolve();
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#done;
  }

  async #createUntilDone(): Promise<void> {
    const admin = this.driver.admin();
    const backoff = new Backoff(this.runtime, BACKOFF);
    try {
      while (!this.#closed.signal.aborted) {
        try {
          const changes = await admin.createTopics(this.topics);
          const created = changes.filter(({ changed }) => changed).length;
          this.logger.info('Topics checked', { topics: changes.length, created });
          return;
        } catch (error) {
          await this.#pause(error, backoff.next());
        }
      }
    } finally {
      await admin.close();
    }
  }

  async #pause(error: unknown, waitMs: number): Promise<void> {
    const { signal } = this.#closed;
    if (signal.aborted) return;
    this.logger.warn('The topics could not be created. The attempt is repeated.', {
      error: errorReasonOf(error),
      inMs: Math.round(waitMs),
    });
    await sleep(this.runtime, waitMs, signal, { background: true }).catch(() => undefined);
  }
}
