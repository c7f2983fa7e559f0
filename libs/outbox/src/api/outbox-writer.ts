import { errorName } from '../errors/describe-error.js';
import { TransactionRequiredError } from '../errors/transaction-required-error.js';
import { EventEnvelope } from '../model/event-envelope.js';
import type { EventType } from '../model/event-type.js';
import { consoleLogger, type OutboxLogger } from '../spi/logger.js';
import type { InsertOptions, OutboxStore } from '../spi/outbox-store.js';
import type { TxContext } from '../spi/tx-context.js';
import { WriterHook } from '../spi/writer-hook.js';

export interface OutboxWriterOptions extends InsertOptions {
  readonly logger?: OutboxLogger;
}

/** Writes events into the outbox table, in the transaction that changes the data. */
export class OutboxWriter {
  readonly #logger: OutboxLogger;

  constructor(
    private readonly tx: TxContext,
    private readonly store: OutboxStore,
    private readonly hook: WriterHook = WriterHook.NOOP,
    private readonly options: OutboxWriterOptions = {},
  ) {
    this.#logger = options.logger ?? consoleLogger;
  }

  /** Returns the id of the event; null if the hook has suppressed it. */
  write(event: EventEnvelope): Promise<string | null>;
  write(type: EventType | string, payloadJson: string): Promise<string | null>;
  async write(
    first: EventEnvelope | EventType | string,
    payloadJson?: string,
  ): Promise<string | null> {
    const event =
      first instanceof EventEnvelope ? first : EventEnvelope.ofJson(first, payloadJson as string);
    const [id] = await this.writeAll([event]);
    return id ?? null;
  }

  /** Returns the ids of the events that were written. */
  async writeAll(events: readonly EventEnvelope[]): Promise<readonly string[]> {
    if (!this.tx.isTransactionActive()) throw new TransactionRequiredError();
    if (events.length === 0) return [];
    const written = this.hook.beforeWrite ? await this.hook.beforeWrite(events) : events;
    if (!written || written.length === 0) return [];
    await this.store.insertAll(this.tx.currentConnection(), written, {
      lockKeys: this.options.lockKeys,
    });
    this.#registerCallbacks(written);
    await this.#callHook('afterWrite', written);
    return written.map(({ eventId }) => eventId);
  }

  /** Returns a writer with the same store and hook for another transaction context. */
  withContext(tx: TxContext): OutboxWriter {
    return new OutboxWriter(tx, this.store, this.hook, this.options);
  }

  #registerCallbacks(events: readonly EventEnvelope[]): void {
    if (this.hook.afterCommit) this.tx.afterCommit(() => this.#callHook('afterCommit', events));
    if (this.hook.afterRollback)
      this.tx.afterRollback(() => this.#callHook('afterRollback', events));
  }

  async #callHook(
    method: 'afterWrite' | 'afterCommit' | 'afterRollback',
    events: readonly EventEnvelope[],
  ): Promise<void> {
    try {
      await this.hook[method]?.(events);
    } catch (error) {
      this.#logger.error(
        `${method} of the writer hook failed for ${events.length} events: ${errorName(error)}. The events are in the table as the transaction has left them.`,
      );
    }
  }
}
