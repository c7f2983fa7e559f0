import type { EventRecord } from '../../model/records/event-record.js';
import type { IdempotencyStore } from '../../model/extension-points/idempotency-store.js';
import type { Duration } from '../reading/duration.js';
import { isPlainObject } from '../reading/plain-object.js';
import { IsDuration, IsOneOf, IsReference } from './property-decorators.js';

/** Decides when two records count as the same: by their position, by a header, or by a function. */
export type IdempotencyKey = 'position' | HeaderKey | KeyFunction;

export interface HeaderKey {
  readonly header: string;
}

export type KeyFunction = (record: EventRecord) => string;

/**
 * Wraps the function in an object, because mergeLayers does not merge a section that contains
 * functions.
 */
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
   * Selects what identifies a record. `'position'` is the topic, partition, offset and timestamp of
   * its first write. A header or a function of the record also detects events that a producer has
   * sent twice.
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
   * Sets how long other processes leave a record alone after one process has begun to handle it. It
   * must be longer than all calls and waits of the record.
   *
   * @defaultValue `60000`
   */
  @IsDuration({ min: 1 })
  leaseMs?: Duration;

  /**
   * Limits how long the bus waits for a response of the store.
   *
   * @defaultValue `5000`
   */
  @IsDuration({ min: 1 })
  timeoutMs?: Duration;

  /**
   * Decides what happens while the store does not respond. `'fail'` lets the records wait,
   * `'process'` handles them, so that some may be handled twice.
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
