/**
 * Version of the semantic conventions. Version 1.45 renamed the attributes of Kafka. `both` writes
 * both names, while dashboards change from one to the other.
 */
export type SemanticConventions = '1.45' | '1.30' | 'both';

/** Names that are the same in both versions. */
export const ATTRIBUTES = Object.freeze({
  operationName: 'messaging.operation.name',
  operationType: 'messaging.operation.type',
  destination: 'messaging.destination.name',
  partition: 'messaging.destination.partition.id',
  group: 'messaging.consumer.group.name',
  clientId: 'messaging.client.id',
  batchCount: 'messaging.batch.message_count',
  errorType: 'error.type',
});

/** Names that version 1.45 has changed: the new one, and the one of 1.30. */
export const RENAMED = Object.freeze({
  system: ['messaging.system.name', 'messaging.system'],
  offset: ['kafka.offset', 'messaging.kafka.offset'],
  tombstone: ['kafka.message.tombstone', 'messaging.kafka.message.tombstone'],
} as const);

/** Names of our own, which no convention has. */
export const OWN_ATTRIBUTES = Object.freeze({
  binding: 'eventbus.binding',
  tier: 'eventbus.tier',
  outcome: 'eventbus.outcome',
});

/** Returns the attribute under the names of the chosen version. */
export function renamed<T>(
  name: keyof typeof RENAMED,
  value: T,
  version: SemanticConventions,
): Record<string, T> {
  const [current, former] = RENAMED[name];
  if (version === '1.45') return { [current]: value };
  return version === '1.30' ? { [former]: value } : { [current]: value, [former]: value };
}
