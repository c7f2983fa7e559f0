import { InvalidOptionError } from './errors.js';
import type { SendOptions } from './producer.js';
import type { OutgoingRecord } from './record.js';
import { rejectUnknownKeys, topicName } from './option-values.js';

/**
 * Throws InvalidOptionError for the first invalid record. No record of the call is sent before this
 * check.
 */
export function validateOutgoingRecords(records: readonly OutgoingRecord[]): void {
  if (!Array.isArray(records))
    throw new InvalidOptionError('send takes a list of records, even for one.');
  for (let index = 0; index < records.length; index++) {
    const problem = problemOf(records[index]);
    if (problem !== undefined)
      throw new InvalidOptionError(`Record ${index} of ${records.length}: ${problem}`);
  }
}

export function validateSendOptions(options: SendOptions): void {
  rejectUnknownKeys('send', options, ['timeoutMs', 'signal']);
  const { timeoutMs } = options;
  if (timeoutMs !== undefined && !(Number.isSafeInteger(timeoutMs) && timeoutMs > 0))
    throw new InvalidOptionError(
      `send.timeoutMs must be a whole number of at least 1; got ${String(timeoutMs)}.`,
    );
}

function problemOf(record: OutgoingRecord | undefined): string | undefined {
  if (typeof record !== 'object' || record === null) return 'it is not an object.';
  const { topic, key, value, partition, timestamp, headers } = record;
  if (!isBytes(key ?? null)) return `its key must be a Buffer, a string or null.`;
  if (!isBytes(value))
    return `its value must be a Buffer, a string or null (a tombstone); serialise objects first.`;
  if (partition !== undefined && !isNonNegativeInteger(partition))
    return `its partition must be an integer of 0 or more; got ${String(partition)}.`;
  if (timestamp !== undefined && !isNonNegativeInteger(timestamp))
    return `its timestamp must be milliseconds since 1970; got ${String(timestamp)}.`;
  topicName('topic of a record', topic);
  return headers === undefined ? undefined : headerProblem(headers);
}

function headerProblem(headers: NonNullable<OutgoingRecord['headers']>): string | undefined {
  if (!Array.isArray(headers))
    return 'its headers must be a list of { key, value }, so that one key may come several times.';
  const broken = headers.find(
    (header) =>
      typeof header?.key !== 'string' ||
      !isBytes(header.value) ||
      !(header.keyBytes === undefined || Buffer.isBuffer(header.keyBytes)),
  );
  return (
    broken &&
    'each header needs a text as key (a key that is not UTF-8 also a Buffer as keyBytes) and a Buffer, a string or null as value.'
  );
}

function isBytes(value: unknown): boolean {
  return value === null || typeof value === 'string' || Buffer.isBuffer(value);
}

function isNonNegativeInteger(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
