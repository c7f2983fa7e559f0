import { isUtf8 } from 'node:buffer';
import fc from 'fast-check';
import type { OutgoingHeader } from '../../port/record.js';
import { BatchHeader } from './batch-header.js';
import { codecOf, writableCompressions } from '../codecs.js';
import { gzip } from '../codecs/gzip.js';
import type { RecordCodec } from '../codecs/record-codec.js';
import { placeBatch } from './encoded-batch.js';
import { RecordBatchReader } from './record-batch-reader.js';
import { RecordBatchWriter } from './record-batch-writer.js';
import type { RecordContent } from './record-size.js';

/** Encoder and decoder of kafkajs: an independent implementation of the same specification. */
type KafkajsHeaders = Record<string, Buffer | null | (Buffer | null)[]>;
interface KafkajsRecord {
  readonly offset: string;
  readonly timestamp: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: KafkajsHeaders;
}
interface KafkajsBatch {
  readonly firstOffset: string;
  readonly lastOffsetDelta: number;
  readonly partitionLeaderEpoch: number;
  readonly producerId: string;
  readonly producerEpoch: number;
  readonly firstSequence: number;
  readonly inTransaction: boolean;
  readonly records: readonly KafkajsRecord[];
}
type BatchEncoder = (batch: Record<string, unknown>) => Promise<{ readonly buffer: Buffer }>;
type RecordEncoder = (record: Record<string, unknown>) => unknown;
type BatchDecoder = (decoder: unknown) => Promise<KafkajsBatch>;

const protocol = 'kafkajs/src/protocol';
const { RecordBatch: encodeBatch } = jest.requireActual<{ RecordBatch: BatchEncoder }>(
  `${protocol}/recordBatch/v0/index.js`,
);
const encodeRecord = jest.requireActual<RecordEncoder>(
  `${protocol}/recordBatch/record/v0/index.js`,
);
const decodeBatch = jest.requireActual<BatchDecoder>(`${protocol}/recordBatch/v0/decoder.js`);
const Decoder = jest.requireActual<new (bytes: Buffer) => unknown>(`${protocol}/decoder.js`);

interface Dated extends RecordContent {
  readonly key: Buffer | string | null;
  readonly headers: readonly OutgoingHeader[];
  readonly timestamp: number;
}

const bytes = fc.uint8Array({ maxLength: 300 }).map((part) => Buffer.from(part));
const text = fc.string({ unit: 'grapheme', maxLength: 90 });
const part = fc.oneof(fc.constant(null), fc.constant(''), bytes, text);
const headerKey = fc.oneof(text, fc.constantFrom('trace', 'trace', 'type'));
/** A key that is not UTF-8. kafkajs cannot express one. */
const binaryKey = fc
  .uint8Array({ minLength: 1, maxLength: 70 })
  .map((part) => Buffer.from(part))
  .filter((part) => !isUtf8(part));
const binaryHeader = fc.record({ keyBytes: binaryKey, value: part }).map((header) => ({
  key: header.keyBytes.toString('utf8'),
  ...header,
}));
const record: fc.Arbitrary<Dated> = fc.record({
  key: part,
  value: part,
  headers: fc.array(fc.record({ key: headerKey, value: part }), { maxLength: 8 }),
  timestamp: fc.oneof(fc.integer(), fc.integer({ min: -1, max: 2 ** 52 })),
});
const records = fc.array(record, { minLength: 1, maxLength: 30 });

function asBuffer(value: Buffer | string | null): Buffer | null {
  return typeof value === 'string' ? Buffer.from(value) : value;
}

function expected(record: Dated, offset: number) {
  return {
    offset,
    timestamp: record.timestamp,
    key: asBuffer(record.key),
    value: asBuffer(record.value),
    headers: record.headers.map((header) => ({ ...header, value: asBuffer(header.value) })),
  };
}

function encode(
  contents: readonly Dated[],
  baseOffset: number,
  codec: RecordCodec | undefined,
): Buffer {
  const writer = new RecordBatchWriter();
  for (const content of contents) writer.append(content, content.timestamp);
  const batch = writer.finish({
    codec,
    producerId: 77n,
    producerEpoch: 2,
  });
  placeBatch(batch, { baseOffset, leaderEpoch: 4 });
  return batch;
}

function readAll(batch: Buffer, fetchOffset: number, step = 1000) {
  const reader = new RecordBatchReader(batch, { topic: 't', partition: 3, fetchOffset });
  const read = [];
  while (!reader.done) read.push(...reader.next(step));
  return read.map(({ offset, timestamp, key, value, headers }) => ({
    offset,
    timestamp,
    key,
    value,
    headers,
  }));
}

describe('record batches that one implementation writes and another reads', () => {
  it('RecordBatchReader reads what RecordBatchWriter wrote, for any number of records per call', () => {
    const offset = fc.oneof(fc.nat(), fc.integer({ min: 2 ** 50, max: 2 ** 53 - 100 }));
    fc.assert(
      fc.property(
        records,
        offset,
        fc.constantFrom(...writableCompressions.map(codecOf)),
        fc.integer({ min: 1, max: 9 }),
        (r, at, z, step) => {
          const read = readAll(encode(r, at, z), at, step);
          expect(read).toEqual(r.map((record, index) => expected(record, at + index)));
        },
      ),
    );
  });

  it('RecordBatchReader keeps the bytes of header keys that are not UTF-8, wherever they are in the list', () => {
    const mixed = fc.array(fc.oneof(binaryHeader, fc.record({ key: headerKey, value: part })), {
      maxLength: 8,
    });
    fc.assert(
      fc.property(records, mixed, fc.boolean(), (given, headers, packed) => {
        const all = given.map((each) => ({ ...each, headers }));
        expect(readAll(encode(all, 0, packed ? gzip : undefined), 0)).toEqual(all.map(expected));
      }),
    );
  });

  it('kafkajs reads what RecordBatchWriter wrote', async () => {
    await fc.assert(
      fc.asyncProperty(
        records.map((all) => all.map(withSoundNames)),
        fc.boolean(),
        async (contents, packed) => {
          const batch = await decodeBatch(
            new Decoder(encode(contents, 1000, packed ? gzip : undefined)),
          );
          expect(batch).toMatchObject({
            firstOffset: '1000',
            lastOffsetDelta: contents.length - 1,
            partitionLeaderEpoch: 4,
            producerId: '77',
            producerEpoch: 2,
            firstSequence: -1,
            inTransaction: false,
          });
          expect(
            batch.records.map(({ offset, timestamp, key, value }) => [
              offset,
              timestamp,
              key,
              value,
            ]),
          ).toEqual(
            contents.map((content, index) => [
              String(1000 + index),
              String(content.timestamp),
              asBuffer(content.key),
              asBuffer(content.value),
            ]),
          );
          expect(batch.records.map(({ headers }) => headers)).toEqual(
            contents.map(({ headers }) => asKafkajsHeaders(headers)),
          );
        },
      ),
      { numRuns: 60 },
    );
  });

  it('RecordBatchReader reads what kafkajs wrote', async () => {
    await fc.assert(
      fc.asyncProperty(records, fc.boolean(), async (contents, packed) => {
        const written = contents.map(withSoundNames).map(withoutNullHeaders);
        const batch = await encodeByKafkajs(written, packed);
        expect(new BatchHeader(batch).isCrcRight()).toBe(true);
        // kafkajs keeps headers in an object, so it writes all values of one key next to each
        // other.
        const read = readAll(batch, 0).map((record) => ({
          ...record,
          headers: asKafkajsHeaders(record.headers),
        }));
        expect(read).toEqual(
          written.map((content, index) => ({
            ...expected(content, index),
            headers: asKafkajsHeaders(content.headers),
          })),
        );
      }),
      { numRuns: 60 },
    );
  });
});

async function encodeByKafkajs(contents: readonly Dated[], packed: boolean): Promise<Buffer> {
  const first = contents[0]?.timestamp ?? 0;
  const encoder = await encodeBatch({
    compression: packed ? 1 : 0,
    firstTimestamp: first,
    maxTimestamp: Math.max(...contents.map(({ timestamp }) => timestamp)),
    lastOffsetDelta: contents.length - 1,
    producerId: -1,
    records: contents.map(({ key, value, headers, timestamp }, offsetDelta) =>
      encodeRecord({
        key,
        value,
        headers: asKafkajsHeaders(headers),
        timestampDelta: timestamp - first,
        offsetDelta,
      }),
    ),
  });
  return encoder.buffer;
}

/**
 * Replaces names such as "constructor", which are properties of the plain object that kafkajs uses
 * for headers.
 */
function withSoundNames(content: Dated): Dated {
  return { ...content, headers: content.headers.filter(({ key }) => !(key in {})) };
}

/** Removes null header values, which kafkajs cannot write. */
function withoutNullHeaders(content: Dated): Dated {
  return { ...content, headers: content.headers.filter(({ value }) => value !== null) };
}

function asKafkajsHeaders(headers: Dated['headers']): KafkajsHeaders {
  const byKey: KafkajsHeaders = {};
  for (const { key, value } of headers) {
    const before = byKey[key];
    const next = asBuffer(value);
    if (before === undefined) byKey[key] = next;
    else byKey[key] = Array.isArray(before) ? [...before, next] : [before, next];
  }
  return byKey;
}
