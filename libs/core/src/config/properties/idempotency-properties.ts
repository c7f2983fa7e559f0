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

/** Configures the idempotency store. A record whose handler has succeeded is not handled again. */
export class IdempotencyProperties {
  /**
   * Sets the store that remembers handled records, such as `memoryIdempotencyStore()`. `'none'`
   * also switches off a store of `defaults`.
   *
   * @defaultValue `'none'`
   */
  @IsReference(
    "'none' or an object with the methods claim, complete and release, such as memoryIdempotencyStore()",
    (value) => value === 'none' || isStore(value),
  )
  store?: IdempotencyStore | 'none';

  /**
   * Selects what identifies a record. `'position'` is the place and time of its first write. A
   * header or a function of the record also detects what a producer has sent twice.
   *
   * @defaultValue `'position'`
   */
  @IsReference(
    "'position', { header: 'its-name' } or a function of the record",
    (value) => value === 'position' || typeof value === 'function' || isHeader(value),
    { kept: (value) => (typeof value === 'function' ? { of: value } : value) },
  )
  key?: IdempotencyKey;

  /**
   * Sets how long a handled record is remembered. It should be longer than an outage and the delay
   * of the last retry topic.
   *
   * @defaultValue `86400000`
   */
  @IsDuration({ min: 1 })
  ttlMs?: Duration;

  /**
   * Sets how long no other process works on a record that one has begun. It must be longer than the
   * record takes, with all calls and waits.
   *
   * @defaultValue `60000`
   */
  @IsDuration({ min: 1 })
  leaseMs?: Duration;

  /**
   * Limits one answer of the store.
   *
   * @defaultValue `5000`
   */
  @IsDuration({ min: 1 })
  timeoutMs?: Duration;

  /**
   * Decides what happens while the store does not answer. `'fail'` lets the records wait,
   * `'process'` handles them, some perhaps twice.
   *
   * @defaultValue `'fail'`
   */
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
