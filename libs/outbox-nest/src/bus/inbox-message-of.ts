import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { EventContext } from '@nest-event-bus/core';
import type { InboxMessage } from '@nest-event-bus/outbox-sql';

/** The column has room for 255 characters, and `id ` is in front. */
const MAX_TEXT = 250;

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
  const value = raw.headers.findLast(({ key }) => key === 'message-id')?.value;
  return {
    consumer: `${cluster}/${groupId}/${binding}`,
    messageId: value && value.length > 0 ? idFromHeader(value) : `at ${dedupKey}`,
  };
}

/**
 * Uses a digest of bytes that are not UTF-8, because different bytes could decode to the same text,
 * and of text that a database refuses, because it is too long or contains NUL.
 */
function idFromHeader(value: Buffer): string {
  const text = value.toString('utf8');
  return isUtf8(value) && text.length <= MAX_TEXT && !text.includes('\0')
    ? `id ${text}`
    : `id-sha256 ${createHash('sha256').update(value).digest('hex')}`;
}
