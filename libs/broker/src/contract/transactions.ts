import type { BrokerDriver } from '../port/driver.js';
import type { ProducerOptions, ProducerSession, Transaction } from '../port/producer.js';
import type { CaseContext } from './case-context.js';

export function transactional(
  context: CaseContext,
  options: ProducerOptions = {},
  driver: BrokerDriver = context.driver,
): ProducerSession {
  return driver.producer({ transactionalId: context.name('tx'), ...options });
}

/** Opens a transaction with a record in each of two partitions and an offset of a group. */
export async function openTransaction(context: CaseContext) {
  const [topic, source, groupId] = [
    await context.topic(2),
    await context.topic(),
    context.name('group'),
  ];
  const { session } = await context.join({ topics: [source], groupId });
  const transaction: Transaction = await context.within(
    transactional(context).transaction(),
    'a transaction',
  );
  await transaction.send([
    { topic, partition: 0, value: 'a' },
    { topic, partition: 1, value: 'b' },
  ]);
  const offsets = [{ topic: source, partition: 0, offset: 7 }];
  const { memberId, generation } = session;
  await transaction.sendOffsets({ groupId, memberId, generation, offsets });
  return { topic, groupId, transaction };
}

/**
 * Opens a transaction with an offset of a group in each of two partitions; the group has an offset
 * in one of them already.
 */
export async function withOffsets(context: CaseContext) {
  const [topic, groupId] = [await context.topic(2), context.name('group')];
  await context.admin.setGroupOffsets(groupId, [{ topic, partition: 0, offset: 1 }]);
  const producer = transactional(context);
  const transaction = await context.within(producer.transaction(), 'a transaction');
  const offsets = [0, 1].map((partition) => ({ topic, partition, offset: 3 }));
  await transaction.sendOffsets({ groupId, memberId: '', generation: -1, offsets });
  return { topic, groupId, producer, transaction };
}

/**
 * Waits until the next transaction can write, because the previous one must have ended in all
 * partitions.
 */
export async function waitUntilEnded(
  context: CaseContext,
  producer: ProducerSession,
): Promise<void> {
  const next = await context.within(producer.transaction(), 'the next transaction');
  await context.within(next.send([{ topic: await context.topic(), value: 'v' }]), 'its record');
  await next.abort();
}

/**
 * Waits for the records, because the broker answers a commit before the markers are in every log.
 */
export async function waitUntilReadable(
  context: CaseContext,
  topic: string,
  expected: readonly string[],
): Promise<void> {
  const all = expected.join();
  await context.eventually(
    `exactly ${all} can be read`,
    async () => (await readCommitted(context, topic)).join() === all,
  );
}

/** Returns what a read_committed reader sees, without joining a group. */
export async function readCommitted(context: CaseContext, topic: string): Promise<string[]> {
  const seen: string[] = [];
  for (const { partition } of await context.admin.watermarks(topic))
    for await (const record of context.admin.readRange(topic, partition, 0, 100))
      seen.push(`${partition}:${String(record.value)}`);
  return seen;
}
