import { createHash } from 'node:crypto';
import type { BrokerRecord } from '@nest-event-bus/broker';

/**
 * Returns a digest of key and value. A replayed record carries it, so that headers that a producer
 * has copied to another event are not taken for those of a replay.
 */
export function replayDigestOf({ key, value }: Pick<BrokerRecord, 'key' | 'value'>): string {
  const hash = createHash('sha256');
  for (const part of [key, value]) hash.update(`${part?.length ?? -1}:`).update(part ?? '');
  return hash.digest('base64url').slice(0, 22);
}
