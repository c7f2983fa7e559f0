import type { EventContext } from '@nest-event-bus/core';
import type { InboxMessage } from '@nest-event-bus/outbox-sql';

/**
 * Returns the message of a record for the inbox. Its id is the header `message-id`, which
 * `toBinding` writes, or without one the position at which the record was first written. Each
 * binding of each group handles a message for itself.
 */
export function inboxMessageOf({
  binding,
  cluster,
  groupId,
  dedupKey,
  raw,
}: Pick<EventContext, 'binding' | 'cluster' | 'groupId' | 'dedupKey' | 'raw'>): InboxMessage {
  const id = raw.headers.findLast(({ key }) => key === 'message-id')?.value?.toString('utf8');
  return {
    consumer: `${cluster}/${groupId}/${binding}`,
    messageId: id ? `id ${id}` : `at ${dedupKey}`,
  };
}
