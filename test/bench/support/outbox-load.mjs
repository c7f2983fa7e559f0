import { setTimeout as pause } from 'node:timers/promises';
import { DefaultListenerRegistry, EventEnvelope, Outbox } from '@nest-event-bus/outbox';
import { SqlTransactionManager } from '@nest-event-bus/outbox-sql';
import { recordOf } from './outbox-relays.mjs';

const PER_TRANSACTION = 10;
const KEYS = 1_000;

/**
 * Writes events at a rate, in transactions of ten, while a leased outbox publishes them. Returns the
 * milliseconds from each commit to the acknowledgement of its events.
 */
export async function publishAtRate({ outbox, producer, topic, rate, seconds }) {
  const transactions = new SqlTransactionManager(outbox.provider);
  const committedAt = new Map();
  const latencies = [];
  const listener = {
    onEvent: () => undefined,
    onEvents: async (events) => {
      await producer.send(
        events.map(({ eventId, aggregateId, payloadBytes }) =>
          recordOf({ eventId, aggregateId, payload: Buffer.from(payloadBytes) }, topic),
        ),
      );
      const now = performance.now();
      for (const { eventId } of events) latencies.push(now - (committedAt.get(eventId) ?? now));
      return events.map(() => undefined);
    },
  };
  const running = Outbox.leased()
    .options({
      connectionProvider: outbox.provider,
      txContext: transactions.context,
      outboxStore: outbox.store,
      listenerRegistry: new DefaultListenerRegistry().register('ORDER', 'OrderCreated', listener),
    })
    .build();
  const count = rate * seconds;
  const commit = async (first) => {
    const events = Array.from({ length: PER_TRANSACTION }, (_, index) => newEvent(first + index));
    await transactions.inTransaction(() => {
      transactions.context.afterCommit(() => {
        const now = performance.now();
        for (const { eventId } of events) committedAt.set(eventId, now);
      });
      return running.writer.writeAll(events);
    });
  };
  const startedAt = performance.now();
  const commits = [];
  for (let first = 0; first < count; first += PER_TRANSACTION) {
    const dueAt = startedAt + (first / rate) * 1_000;
    if (dueAt > performance.now()) await pause(dueAt - performance.now());
    commits.push(commit(first));
  }
  await Promise.all(commits);
  while (latencies.length < count) await pause(10);
  await running.close();
  return { latencies, seconds: (performance.now() - startedAt) / 1_000 };
}

const newEvent = (number) =>
  EventEnvelope.builder('OrderCreated')
    .aggregateType('ORDER')
    .aggregateId(String(number % KEYS))
    .payloadJson(`{"id":${number},"text":"${'x'.repeat(180)}"}`)
    .build();
