import {
  type EventEnvelope,
  type Outbox,
  type OutboxStore,
  OutboxWriter,
  type OutboxWriterOptions,
  type TxContext,
  WriterHook,
} from '@nest-event-bus/outbox';

/** Can be injected before the outbox starts. A poll finds the events that were written until then. */
export class HostedOutboxWriter extends OutboxWriter {
  constructor(
    tx: TxContext,
    store: OutboxStore,
    options: OutboxWriterOptions,
    private readonly started: () => Outbox | undefined,
  ) {
    super(tx, store, WriterHook.NOOP, options);
  }

  override writeAll(events: readonly EventEnvelope[]): Promise<readonly string[]> {
    const outbox = this.started();
    return outbox ? outbox.writer.writeAll(events) : super.writeAll(events);
  }
}
