import type { BrokerRecord } from '@nest-event-bus/broker';
import { isUtf8 } from 'node:buffer';
import { createHash, type BinaryLike } from 'node:crypto';
import type {
  KeyFunction,
  ResolvedIdempotencyKey,
} from '../../config/properties/idempotency-properties.js';
import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import { IdempotencyKeyException } from '../../errors/idempotency-errors.js';
import { EVENTBUS_HEADERS } from '../../model/records/event-bus-headers.js';
import type { EventRecord } from '../../model/records/event-record.js';
import { headerText } from '../../model/records/header-text.js';
import { EVENTBUS_POSITION, headerPosition } from '../../model/records/original-position.js';
import { isReplay } from '../../model/records/retry-history.js';
import { positionKey } from '../context/dedup-key.js';
import type { RecordCall } from '../record-call.js';
import { isPromiseLike } from '../and-then.js';

/** Returns the key of a record. Throws an IdempotencyKeyException if it has none. */
export type RecordKeys = (call: RecordCall) => string;

/**
 * Text that every store keeps unchanged: no collation folds it, no store refuses a character, no
 * column is too short.
 */
const PLAIN_TEXT = /^[\x21-\x7e]{1,250}$/;

/**
 * Creates the function that names a record in the store. Other bindings and groups may share the
 * store. The key therefore contains the cluster, the group and the binding, because each group has
 * to handle the record itself.
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
  if (key === 'position')
    return ({ delivery }) => plainText(keyFromPosition(delivery.record, topic));
  return 'header' in key
    ? (call) => keyFromHeader(call, key.header, binding)
    : (call) => plainText(keyFromFunction(key.of, call, binding));
}

/**
 * Names a record by its position and its timestamp. The timestamp distinguishes it from an earlier
 * record with the same offset, if the topic was recreated or the log was truncated: the mark of the
 * earlier one must not hide it. Headers about the original position count only for the topic of
 * this binding, and on the main topic only for a replay. An application that copies headers from
 * one event to another must not make two records one.
 */
function keyFromPosition(record: BrokerRecord, topic: string): string {
  const { headers, offset, partition } = record;
  const own = `${record.topic}-${partition}-${offset}`;
  const isSame =
    record.topic === topic
      ? isReplay(record)
      : headerText(headers, EVENTBUS_HEADERS.originalTopic) === topic;
  const said = isSame ? headerPosition(headers, EVENTBUS_POSITION) : undefined;
  const original = said ? positionKey(said) : own;
  return original === own
    ? `${own}@${record.timestamp}`
    : `${original}@${headerText(headers, EVENTBUS_HEADERS.originalTimestamp) ?? ''}`;
}

/**
 * Uses the bytes of a header that is not UTF-8, because different bytes could decode to the same
 * text.
 */
function keyFromHeader({ delivery, record }: RecordCall, name: string, binding: string): string {
  const value = delivery.record.headers.findLast(({ key }) => key === name)?.value;
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
  // The promise has no reader, and it must not become an unhandled rejection.
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
    `${topic}-${partition}-${offset} cannot be told from a second delivery of the same: ${why}. Correct what its producer writes, or give binding '${binding}' another idempotency.key.`,
    { cause },
  );
}

/**
 * Returns the text, or its digest if a store could not keep it unchanged. Plain text has no space,
 * so it never equals a digest.
 */
function plainText(text: string): string {
  return PLAIN_TEXT.test(text) ? text : `sha256 ${digestOf(text)}`;
}

const digestOf = (content: BinaryLike): string =>
  createHash('sha256').update(content).digest('hex');
