import { hash } from 'node:crypto';
import type { BrokerRecord } from '@nest-event-bus/broker';

/**
 * Returns a digest of key and value. A replayed record carries it, so that headers that a producer
 * has copied to another event are not taken for those of a replay.
 */
export function replayDigestOf({ key, value }: Pick<BrokerRecord, 'key' | 'value'>): string {
  const parts = [key, value].flatMap((part) => [
    Buffer.from(`${part?.length ?? -1}:`, 'latin1'),
    part ?? NOTHING,
  ]);
  return hash('sha256', Buffer.concat(parts), 'base64url').slice(0, 22);
}

const NOTHING = Buffer.alloc(0);
