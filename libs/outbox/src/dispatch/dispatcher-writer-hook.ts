import type { EventEnvelope } from '../model/event-envelope.js';
import type { OutboxLogger } from '../spi/logger.js';
import { consoleLogger } from '../spi/logger.js';
import { MetricsExporter } from '../spi/metrics-exporter.js';
import type { WriterHook } from '../spi/writer-hook.js';
import type { OutboxDispatcher } from './outbox-dispatcher.js';

/** Passes committed events to the hot queue. An event that finds it full waits for a poll. */
export class DispatcherWriterHook implements WriterHook {
  constructor(
    private readonly dispatcher: Pick<OutboxDispatcher, 'enqueueHot'>,
    private readonly metrics: MetricsExporter = MetricsExporter.NOOP,
    private readonly logger: OutboxLogger = consoleLogger,
  ) {}

  afterCommit(events: readonly EventEnvelope[]): void {
    const dropped = events.filter(
      (envelope) => !this.dispatcher.enqueueHot({ envelope, source: 'HOT', attempts: 0 }),
    );
    dropped.forEach(() => this.metrics.incrementHotDropped());
    if (dropped.length > 0)
      this.logger.warn(
        `The hot queue took ${events.length - dropped.length} of ${events.length} events. The others stay in the table until a poll, first ${dropped[0]?.eventId}.`,
      );
  }
}
