import { isUtf8 } from 'node:buffer';
import { createHash, type BinaryLike } from 'node:crypto';
import type {
  KeyFunction,
  ResolvedIdempotencyKey,
} from '../../config/properties/idempotency-properties.js';
import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import { IdempotencyKeyException } from '../../errors/idempotency-errors.js';
import type { EventRecord } from '../../model/records/event-record.js';
import { storeKeyOf } from '../context/dedup-key.js';
import type { RecordCall } from '../record-call.js';
import { isPromiseLike } from '../and-then.js';

/** Returns the key of a record. Throws an IdempotencyKeyException if it has none. */
export type RecordKeys = (call: RecordCall) => string;

/**
 * Text that every store keeps unchanged: no collation maps it to another text, no store refuses a
 * character, and no column is too short.
 */
const PLAIN_TEXT = /^[\x21-\x7e]{1,250}$/;

/**
 * Creates the function that returns the key of a record in the store. Other bindings and groups may
 * share the store, so the key contains the cluster, the group and the binding: each group has to
 * handle the record itself.
 */
export function createRecordKeys({
  name,
  cluster,
  groupId,
  topic,
  idempotency,
}: ResolvedBinding): RecordKeys {
  const group = groupId.replaceAll('%', '%25').replaceAll('/', '%2F');
  const scope = plainText(`${cluster}/${group}/${name}`);
  const keyOf = keyFunctionOf(idempotency.key, topic, name);
  return (call) => `${scope}/${keyOf(call)}`;
}

function keyFunctionOf(key: ResolvedIdempotencyKey, topic: string, binding: string): RecordKeys {
  if (key === 'position') return ({ delivery }) => plainText(storeKeyOf(delivery.record, topic));
  return 'header' in key
    ? (call) => keyFromHeader(call, key.header, binding)
    : (call) => plainText(keyFromFunction(key.of, call, binding));
}

/**
 * Uses the bytes of a header that is not UTF-8, because different bytes could decode to the same
 * text.
 */
function keyFromHeader({ received, record }: RecordCall, name: string, binding: string): string {
  const value = received.headers.findLast(({ key }) => key === name)?.value;
  if (!value || value.length === 0)
    throw missingKey(record, binding, `it has no header '${name}' with a value`);
  return isUtf8(value) ? plainText(value.toString('utf8')) : `bytes ${digestOf(value)}`;
}

function keyFromFunction(key: KeyFunction, { record }: RecordCall, binding: string): string {
  let answer: unknown;
  try {
    answer = key(record);
  } catch (cause) {
    throw missingKey(record, binding, 'the function idempotency.key threw', cause);
  }
  if (typeof answer === 'string' && answer !== '') return answer;
  // Nobody awaits the promise, so its rejection is ignored.
  if (isPromiseLike(answer)) answer.then(undefined, () => undefined);
  throw missingKey(record, binding, 'the function idempotency.key did not give a text');
}

function missingKey(
  { topic, partition, offset }: EventRecord,
  binding: string,
  why: string,
  cause?: unknown,
): IdempotencyKeyException {
  return new IdempotencyKeyException(
    `${topic}-${partition}-${offset} cannot be distinguished from a second delivery of the same: ${why}. Correct what its producer writes, or give binding '${binding}' another idempotency.key.`,
    { cause },
  );
}

/**
 * Returns the text, or its digest if a store could not keep the text unchanged. A digest contains a
 * space and plain text does not, so they are never equal.
 */
function plainText(text: string): string {
  return PLAIN_TEXT.test(text) ? text : `sha256 ${digestOf(text)}`;
}

const digestOf = (content: BinaryLike): string =>
  createHash('sha256').update(content).digest('hex');
