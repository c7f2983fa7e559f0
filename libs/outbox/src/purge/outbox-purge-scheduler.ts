import { AsyncLocalStorage } from 'node:async_hooks';
import { positiveDuration, positiveInteger } from '../errors/checks.js';
import { errorName } from '../errors/describe-error.js';
import { required } from '../errors/required-field-error.js';
import { realRuntime } from '../runtime/real-runtime.js';
import type { Runtime } from '../runtime/runtime.js';
import type { EventPurger } from '../spi/event-purger.js';
import { consoleLogger, logSevere, type OutboxLogger } from '../spi/logger.js';
import { type ConnectionProvider, withConnection } from '../spi/sql-connection.js';
import { Schedule } from '../util/schedule.js';

const DAY_MS = 86_400_000;

export interface OutboxPurgeSchedulerOptions {
  readonly connectionProvider: ConnectionProvider;
  readonly purger: EventPurger;
  /** Events that are older are deleted. Default 7 days. */
  readonly retentionMs?: number;
  /** How many events one statement deletes at most. Default 500. */
  readonly batchSize?: number;
  /** Default 3600. */
  readonly intervalSeconds?: number;
  /** Names the purge in its log lines. Default `outbox`. */
  readonly name?: string;
  readonly logger?: OutboxLogger;
  readonly runtime?: Runtime;
}

/** Deletes old events at an interval. */
export class OutboxPurgeScheduler {
  readonly #options: Required<OutboxPurgeSchedulerOptions>;
  readonly #schedule: Schedule;
  #cycle: Promise<number> | undefined;

  constructor(options: OutboxPurgeSchedulerOptions) {
    this.#options = {
      retentionMs: 7 * DAY_MS,
      batchSize: 500,
      intervalSeconds: 3_600,
      name: 'outbox',
      logger: consoleLogger,
      runtime: realRuntime,
      ...withoutUndefined(options),
    };
    const { retentionMs, batchSize, intervalSeconds, runtime } = this.#options;
    positiveDuration('retention', retentionMs);
    positiveInteger('batchSize', batchSize);
    positiveDuration('intervalSeconds', intervalSeconds);
    const outsideRequests = AsyncLocalStorage.snapshot();
    this.#schedule = new Schedule('The purge scheduler', runtime, intervalSeconds * 1_000, () =>
      outsideRequests(async () => void (await this.runOnce())),
    );
  }

  static builder(): OutboxPurgeSchedulerBuilder {
    return new OutboxPurgeSchedulerBuilder();
  }

  /** Throws after `close()`. */
  start(): void {
    this.#schedule.start();
  }

  /** Deletes everything that is due and returns the number of events. Never rejects. */
  runOnce(): Promise<number> {
    return (this.#cycle ??= this.#purge().finally(() => (this.#cycle = undefined)));
  }

  async close(): Promise<void> {
    this.#schedule.stop();
    await this.#cycle;
  }

  async #purge(): Promise<number> {
    const { connectionProvider, purger, retentionMs, batchSize, logger, name, runtime } =
      this.#options;
    const before = runtime.now() - retentionMs;
    let total = 0;
    try {
      for (let deleted = batchSize; deleted >= batchSize; total += deleted)
        deleted = await withConnection(connectionProvider, (connection) =>
          purger.purge(connection, before, batchSize),
        );
      logger.log(`The ${name} purge deleted ${total} events.`);
    } catch (error) {
      logSevere(
        logger,
        `SEVERE: the ${name} purge failed after ${total} events: ${errorName(error)}. The next one starts at its interval.`,
      );
    }
    return total;
  }
}

export class OutboxPurgeSchedulerBuilder {
  #values: Partial<OutboxPurgeSchedulerOptions> = {};

  connectionProvider(connectionProvider: ConnectionProvider): this {
    return this.#with({ connectionProvider });
  }

  purger(purger: EventPurger): this {
    return this.#with({ purger });
  }

  retention(retentionMs: number): this {
    return this.#with({ retentionMs });
  }

  batchSize(batchSize: number): this {
    return this.#with({ batchSize });
  }

  intervalSeconds(intervalSeconds: number): this {
    return this.#with({ intervalSeconds });
  }

  logger(logger: OutboxLogger): this {
    return this.#with({ logger });
  }

  runtime(runtime: Runtime): this {
    return this.#with({ runtime });
  }

  build(): OutboxPurgeScheduler {
    const { connectionProvider, purger } = this.#values;
    const name = 'OutboxPurgeScheduler.builder()';
    return new OutboxPurgeScheduler({
      ...this.#values,
      connectionProvider: required(name, 'connectionProvider', connectionProvider),
      purger: required(name, 'purger', purger),
    });
  }

  #with(values: Partial<OutboxPurgeSchedulerOptions>): this {
    this.#values = { ...this.#values, ...values };
    return this;
  }
}

function withoutUndefined<T extends object>(values: T): T {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as T;
}
