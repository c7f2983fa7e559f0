import { OutboxDispatcher } from './dispatch/index.js';
import {
  ManualRuntime,
  MemoryDatabase,
  MemoryOutboxStore,
  MemoryTxContext,
} from './memory/index.js';
import { EventEnvelope, type EventEnvelopeInput } from './model/index.js';
import { DefaultListenerRegistry } from './registry/index.js';
import type { MetricsExporter } from './spi/index.js';

/** An outbox in memory with virtual time. */
export class OutboxSetup {
  readonly runtime = new ManualRuntime();
  readonly database = new MemoryDatabase();
  readonly store = new MemoryOutboxStore(this.database, this.runtime);
  readonly tx = new MemoryTxContext(this.database);
  readonly registry = new DefaultListenerRegistry();
  readonly lines: string[] = [];
  readonly counts: Record<string, number> = {};
  readonly logger = Object.fromEntries(
    ['log', 'warn', 'error', 'fatal'].map((level) => [
      level,
      (message: string) => void this.lines.push(`${level} ${message}`),
    ]),
  ) as Record<'log' | 'warn' | 'error' | 'fatal', (message: string) => void>;
  readonly metrics = new Proxy({} as MetricsExporter, {
    get: (_, name: string) => (value?: number) => {
      this.counts[name] = name.startsWith('increment')
        ? (this.counts[name] ?? 0) + 1
        : (value ?? 0);
    },
  });

  event(eventId: string, input: Partial<EventEnvelopeInput> = {}): EventEnvelope {
    return new EventEnvelope({
      eventId,
      eventType: 'A',
      payloadJson: '1',
      occurredAt: this.runtime.now(),
      ...input,
    });
  }

  async insert(...ids: readonly string[]): Promise<void> {
    const { connection } = await this.database.getConnection();
    await this.store.insertAll(
      connection,
      ids.map((id) => this.event(id)),
    );
  }

  dispatcher(): ReturnType<typeof OutboxDispatcher.builder> {
    return OutboxDispatcher.builder()
      .connectionProvider(this.database)
      .outboxStore(this.store)
      .listenerRegistry(this.registry)
      .logger(this.logger)
      .metrics(this.metrics)
      .runtime(this.runtime);
  }

  status(eventId: string): number | undefined {
    return this.database.rows.get(eventId)?.status;
  }

  settle(): Promise<void> {
    return this.runtime.settle();
  }

  advance(ms: number): Promise<void> {
    return this.runtime.advance(ms);
  }
}
