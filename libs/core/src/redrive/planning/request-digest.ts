import { createHash } from 'node:crypto';
import type { RedriveRequest } from '../redrive-request.js';

/** Identifies what a request selects and where it replays to, whatever the order of its fields. */
export function requestDigest({ where, all, limit, to }: RedriveRequest): string {
  const text = canonicalText({ where, all, limit, to: to ?? 'origin' });
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

/** Returns the value as JSON, with the fields in their alphabetical order. */
export function canonicalText(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part === 'bigint') return String(part);
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  });
}
