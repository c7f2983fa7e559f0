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
  readonly headers?: (() => Readonly<Record<string, string>>) | undefined;
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
    const all = this.#withHeaders(events);
    const ids = await (writer ? writer.writeAll(all) : super.writeAll(all));
    if (ids.length > 0 && this.parts.onCommit) this.context.afterCommit(this.parts.onCommit);
    return ids;
  }

  override withContext(context: TxContext): OutboxWriter {
    return new HostedOutboxWriter(context, this.parts);
  }

  #withHeaders(events: readonly EventEnvelope[]): readonly EventEnvelope[] {
    const added = Object.entries(this.parts.headers?.() ?? {});
    if (added.length === 0) return events;
    return events.map((event) => event.withHeaders(new Map([...added, ...event.headers])));
  }
}
