import type { EventRecord } from '../../model/records/event-record.js';
import type { IdempotencyStore } from '../../model/extension-points/idempotency-store.js';
import type { Duration } from '../reading/duration.js';
import { isPlainObject } from '../reading/plain-object.js';
import { IsDuration, IsOneOf, IsReference } from './property-decorators.js';

/** What two deliveries of the same have in common. */
export type IdempotencyKey = 'position' | HeaderKey | KeyFunction;

export interface HeaderKey {
  readonly header: string;
}

export type KeyFunction = (record: EventRecord) => string;

/** A function stands in an object of its own: one among settings would make them an object with methods. */
export type ResolvedIdempotencyKey = 'position' | HeaderKey | { readonly of: KeyFunction };

/** A record whose handler has succeeded is not handed to it again. */
export class IdempotencyProperties {
  /** `'none'` switches off what `defaults` say. */
  @IsReference(
    "'none' or an object with the methods claim, complete and release, such as memoryIdempotencyStore()",
    (value) => value === 'none' || isStore(value),
  )
  store?: IdempotencyStore | 'none';

  /**
   * `'position'` is where the record was first written, over all retry topics. A header, or a
   * function of the record, also tells what its producer has sent twice.
   */
  @IsReference(
    "'position', { header: 'its-name' } or a function of the record",
    (value) => value === 'position' || typeof value === 'function' || isHeader(value),
    { kept: (value) => (typeof value === 'function' ? { of: value } : value) },
  )
  key?: IdempotencyKey;

  /** How long a record that is done is remembered. */
  @IsDuration({ min: 1 })
  ttlMs?: Duration;

  /** How long nobody else works on a record that somebody has begun: longer than its handler takes, retries included. */
  @IsDuration({ min: 1 })
  leaseMs?: Duration;

  /** For one answer of the store. */
  @IsDuration({ min: 1 })
  timeoutMs?: Duration;

  /** While the store does not answer, `'fail'` lets the records wait; `'process'` handles them, some of them perhaps twice. */
  @IsOneOf(['fail', 'process'])
  onStoreFailure?: 'fail' | 'process';
}

const METHODS = ['claim', 'complete', 'release'] as const;

function isStore(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return METHODS.every((name) => typeof (value as Partial<IdempotencyStore>)[name] === 'function');
}

function isHeader(value: unknown): boolean {
  if (!isPlainObject(value) || Object.keys(value).length !== 1) return false;
  const { header } = value;
  return typeof header === 'string' && header.length > 0 && header.trim() === header;
}
