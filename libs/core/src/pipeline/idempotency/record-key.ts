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
import type { ReadyRecord } from '../dispatch/preparation.js';
import { isPromiseLike } from '../is-promise-like.js';

/** Throws IdempotencyKeyException. */
export type RecordKeys = (ready: ReadyRecord) => string;

/** Every store can hold it as it is: no collation folds it, no character is refused, no column cuts it. */
const PLAIN_TEXT = /^[\x21-\x7e]{1,250}$/;

/**
 * Names a record in the store, which other bindings and groups may share. The key says whose it
 * is: what one group has done is still to be done by the other.
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
  return (ready) => `${scope}/${keyOf(ready)}`;
}

function keyFunctionOf(key: ResolvedIdempotencyKey, topic: string, binding: string): RecordKeys {
  if (key === 'position')
    return ({ delivery }) => plainText(keyFromPosition(delivery.record, topic));
  return 'header' in key
    ? (ready) => keyFromHeader(ready, key.header, binding)
    : (ready) => plainText(keyFromFunction(key.of, ready, binding));
}

/**
 * The time tells a record from the one that had the offset before its topic was created anew, or
 * its log was cut: that one's mark must not hide it. The headers of a hop count for this binding's
 * own topic only, and on it only those of a replay: an application that passes its headers on must
 * not make two records one.
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

/** Bytes that are no text stay bytes: as text they would look like others. */
function keyFromHeader({ delivery, record }: ReadyRecord, name: string, binding: string): string {
  const value = delivery.record.headers.findLast(({ key }) => key === name)?.value;
  if (!value || value.length === 0)
    throw missingKey(record, binding, `it has no header '${name}' with a value`);
  return isUtf8(value) ? plainText(value.toString('utf8')) : `bytes ${digestOf(value)}`;
}

function keyFromFunction(key: KeyFunction, { record }: ReadyRecord, binding: string): string {
  let answer: unknown;
  try {
    answer = key(record);
  } catch (cause) {
    throw missingKey(record, binding, 'the function idempotency.key threw', cause);
  }
  if (typeof answer === 'string' && answer !== '') return answer;
  // Nobody waits for it, and it must not become an unhandled rejection.
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

/** A space is in no plain text, so none can pass for the digest of another. */
function plainText(text: string): string {
  return PLAIN_TEXT.test(text) ? text : `sha256 ${digestOf(text)}`;
}

const digestOf = (content: BinaryLike): string =>
  createHash('sha256').update(content).digest('hex');
