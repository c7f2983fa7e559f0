import {
  type EventEnvelope,
  type Outbox,
  type OutboxStore,
  OutboxWriter,
  type OutboxWriterOptions,
  type TxContext,
  WriterHook,
} from '@nest-event-bus/outbox';

export interface HostedWriterParts {
  readonly store: OutboxStore;
  readonly options: OutboxWriterOptions;
  readonly started: () => Outbox | undefined;
  /** Called after each commit with events, in whatever mode. */
  readonly onCommit?: (() => void) | undefined;
}

/** Can be injected before the outbox starts. A poll finds the events that were written until then. */
export class HostedOutboxWriter extends OutboxWriter {
  constructor(
    private readonly context: TxContext,
    private readonly parts: HostedWriterParts,
  ) {
    super(context, parts.store, WriterHook.NOOP, parts.options);
  }

  override async writeAll(events: readonly EventEnvelope[]): Promise<readonly string[]> {
    const writer = this.parts.started()?.writer.withContext(this.context);
    const ids = await (writer ? writer.writeAll(events) : super.writeAll(events));
    if (ids.length > 0 && this.parts.onCommit) this.context.afterCommit(this.parts.onCommit);
    return ids;
  }

  override withContext(context: TxContext): OutboxWriter {
    return new HostedOutboxWriter(context, this.parts);
  }
}
