import type { OutboxDispatcher } from '../dispatch/outbox-dispatcher.js';
import type { OutboxPoller } from '../poller/outbox-poller.js';
import type { OutboxPurgeScheduler } from '../purge/outbox-purge-scheduler.js';
import { LeasedOutboxBuilder } from './leased-outbox-builder.js';
import {
  MultiNodeOutboxBuilder,
  OrderedOutboxBuilder,
  SingleNodeOutboxBuilder,
  WriterOnlyOutboxBuilder,
} from './outbox-builders.js';
import type { OutboxWriter } from './outbox-writer.js';

export interface OutboxParts {
  readonly writer: OutboxWriter;
  readonly dispatcher?: Pick<OutboxDispatcher, 'close'>;
  readonly poller?: Pick<OutboxPoller, 'close'>;
  readonly purgeScheduler?: Pick<OutboxPurgeScheduler, 'close'>;
  /** Looks for events before the next poll. */
  readonly wake?: () => void;
}

/** A writer with the parts that dispatch its events. Close it at the end: `await using` does. */
export class Outbox implements AsyncDisposable {
  readonly writer: OutboxWriter;
  #closing: Promise<void> | undefined;

  constructor(private readonly parts: OutboxParts) {
    this.writer = parts.writer;
  }

  /** One process. Events go to the hot queue at commit; a poll finds the rest. */
  static singleNode(): SingleNodeOutboxBuilder<Outbox> {
    return new SingleNodeOutboxBuilder((parts) => new Outbox(parts));
  }

  /** Several processes on one table. The polls claim their events. */
  static multiNode(): MultiNodeOutboxBuilder<Outbox> {
    return new MultiNodeOutboxBuilder((parts) => new Outbox(parts));
  }

  /** One process and one worker: events are dispatched in the order of their insertion. */
  static ordered(): OrderedOutboxBuilder<Outbox> {
    return new OrderedOutboxBuilder((parts) => new Outbox(parts));
  }

  /**
   * Several processes on one table, in batches, with order per key. Claims have leases by the clock
   * of the database, and tokens, so that a late worker changes nothing.
   */
  static leased(): LeasedOutboxBuilder<Outbox> {
    return new LeasedOutboxBuilder((parts) => new Outbox(parts));
  }

  /** Writes only. Another program reads the table, for example change data capture. */
  static writerOnly(): WriterOnlyOutboxBuilder<Outbox> {
    return new WriterOnlyOutboxBuilder((parts) => new Outbox(parts));
  }

  /**
   * Looks for events now. Call it when another process has committed some. Changes nothing with
   * `writerOnly`, which dispatches nothing.
   */
  wake(): void {
    this.parts.wake?.();
  }

  /** Closes the purge scheduler, the poller and the dispatcher, in this order. Each is closed even
   * if another one fails. */
  close(): Promise<void> {
    return (this.#closing ??= this.#closeParts());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #closeParts(): Promise<void> {
    const { purgeScheduler, poller, dispatcher } = this.parts;
    const failures: unknown[] = [];
    for (const part of [purgeScheduler, poller, dispatcher])
      await part?.close().catch((error: unknown) => failures.push(error));
    if (failures.length > 0)
      throw new AggregateError(failures, 'Parts of the outbox could not be closed.');
  }
}
