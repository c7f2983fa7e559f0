import { BrokerError, PartitionError } from '../../port/errors.js';
import type { BrokerRecord } from '../../port/record.js';
import { BATCH, FRAME_BYTES } from './batch-layout.js';
import { CodecRegistry, standardCodecs } from '../codecs.js';
import { gzip } from '../codecs/gzip.js';
import { lz4 } from '../codecs/lz4.js';
import type { RecordCodec } from '../codecs/record-codec.js';
import { snappy } from '../codecs/snappy.js';
import { javascriptZstd } from '../codecs/zstd.js';
import { encodeControlBatch } from './control-batch.js';
import { placeBatch, sealBatch } from './encoded-batch.js';
import { endOfBatches } from './batch-header.js';
import { RecordBatchReader } from './record-batch-reader.js';
import { RecordBatchWriter, type BatchOptions } from './record-batch-writer.js';
import { CHUNK_BYTES } from './open-batch.js';
import { sizeOfRecord } from './record-size.js';

/**
 * The number of mutated responses; FUZZ_RUNS=100000 for a long run. FUZZ_SEED together with
 * FUZZ_RUNS=1 repeats a failed run.
 */
const RUNS = Number(process.env.FUZZ_RUNS ?? 5_000);
const FIRST_SEED = Number(process.env.FUZZ_SEED ?? 1);
const MAX_INFLATED = 256 * 1024;
const LONGEST_RUN_MS = 2_000;

type Random = (below: number) => number;

/** Mulberry32: a small seeded generator, good enough to choose bytes. */
function randomFrom(seed: number): Random {
  let state = seed | 0;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

const HEADERS = [
  { key: 'trace', value: '00-4bf92f3577b34da6a3ce929d0e0e4736' },
  { key: 'type', value: 'OrderPlaced' },
  { key: 'type', value: null },
  { key: 'größe', value: Buffer.from([0, 255, 128]) },
];

function batch(base: number, count: number, options: BatchOptions = {}, gap = 1): Buffer {
  const writer = new RecordBatchWriter();
  for (let index = 0; index < count; index++) {
    const value =
      index % 7 === 3 ? null : JSON.stringify({ id: base + index, text: 'x'.repeat(index * 9) });
    const headers = HEADERS.slice(0, index % 5);
    writer.append({ key: `key-${index}`, value, headers }, 1_700_000_000_000 + index, index * gap);
  }
  const encoded = writer.finish(options);
  placeBatch(encoded, { baseOffset: base, leaderEpoch: 3 });
  return encoded;
}

function marker(type: 'abort' | 'commit', producerId: bigint, base: number): Buffer {
  const encoded = encodeControlBatch(type, { producerId, producerEpoch: 0, timestamp: 1 });
  placeBatch(encoded, { baseOffset: base });
  return encoded;
}

function appended(encoded: Buffer, baseOffset: number): Buffer {
  placeBatch(encoded, { baseOffset, logAppendTime: 1_700_000_000_123 });
  return encoded;
}

const transactional = { producerEpoch: 0, baseSequence: 0, transactional: true };

/** The output of `zstd -3 --no-check` for the records of `batch(100, 40)`. */
const zstdOfForty = Buffer.from(
  'KLUv/WCaInUYAMYdbkcQzSYdOyCQWVCJqBQFyQzAKW4SMIrbAXAEaM6gUMC6sB5ald2AQW6NANS4rgymDEEjhGyy5b5ERzVtAqaMwZRF2u0QssneKVsAXABYAJr26GAFqlIoAljgihUgBKastDwzpBd153zEyd1hsIJ19d0PVHUqp1a4TbqO65P7nZjgjlpPoCrFan1kSFVsyUr5CPOQ0hJtqYAtSqrVluiKADUwqh0rYIHPf1N2u7g4htML2m4WFscmXOm6dhOJjr2sDWFDoUsOj9VuFRUXfRo+CorLnZB6NN7ExOVNF6EDgS5lMoO8bZeuh5SLB7jP57HFVeIa+KBmpoY1AOQJKU7BHs/lS9RiB/mZS97JGH/qPKScDnfvJ4KIb62PF8PQ18Pj08OVuZdE+rSxF4NgLwfH5+shrRd71TsaHZPwkfg2Nj5jPBCehsZngthR+siSM+SMjGMzDyk3w2FgXG7AMDhfztdbSckBtHgo1GNLZxe6JiG5dpMp5JGRay4PKZe5cKfTMxrcmQLcIiLXLHSP6A4Judbg9ofbICDPRETbJtNRHtKeNrU/Pj47fDFfqfQsx5svnuc9q9BNli4HgKyoUa1kKKepVVnGAAMKRIS0GgMSoABZisQLHxE+EUaEE09goDW1B70richNzdAPYDUFTzAWd8wHX0q9ypsQbCmUDbo9DACMLI2LQiMjpDFcCmnh0eVzrLcaooCrVvT51rfMPFyq4IisciDdFh9dencC84Cl7yURBS4fc5AcSmUzVjl3862jQx/zI+JAeKYGh/4IDNNrUzqCXzLWkmwLsar3uuQsf8JiwIDM4eUbvHo6USxnkUDwQrgLaHz6/L3pSykJTIuQ47ixtdwmg+2jmQW1G2Bn4+yCVmhNBMC/eLCO+unedsHN8KAY+VuntL85tQFX79e8ZMDZTGZ5bFiFLqpo5CWcRjiwt9nVdXtXY/5v9VamnD7huQflqVo4d2pgsCKugysDgETsSEZYZnwllJzYaTC2XfhpkFTEKscIsDCMYgb7oGSy9GzLRS2dEahdAqtq',
  'base64',
);

/**
 * A codec that returns the output of the zstd command for these records, because some Node.js
 * versions cannot write zstd.
 */
function packedBefore(block: Buffer): RecordCodec {
  return { ...javascriptZstd, compress: () => block };
}

const RESPONSES: readonly Buffer[] = [
  Buffer.concat([batch(100, 20), batch(120, 1), batch(121, 30)]),
  Buffer.concat([batch(100, 40, { codec: gzip }), batch(140, 3, { codec: gzip })]),
  Buffer.concat([
    batch(100, 3, { ...transactional, producerId: 1n }),
    batch(103, 3, { ...transactional, producerId: 2n ** 60n }),
    marker('abort', 1n, 106),
    marker('commit', 2n ** 60n, 107),
    batch(108, 5, { ...transactional, producerId: 1n, codec: gzip }),
    marker('commit', 1n, 113),
  ]),
  Buffer.concat([
    batch(100, 5, { lastOffsetDelta: 40 }, 7),
    batch(141, 0, { lastOffsetDelta: 3 }),
    appended(batch(150, 6), 150),
  ]),
  Buffer.concat([batch(100, 60), batch(160, 60).subarray(0, 1000)]),
  Buffer.concat([batch(100, 40, { codec: snappy }), batch(140, 200, { codec: snappy })]),
  Buffer.concat([batch(100, 40, { codec: lz4 }), batch(140, 200, { codec: lz4 })]),
  Buffer.concat([batch(100, 40, { codec: packedBefore(zstdOfForty) }), batch(140, 1)]),
];

const INTERESTING = [0, 1, -1, 2, 48, 49, 61, 127, 128, 255, 0x7fffffff, -0x80000000, 0x00ffffff];
const FIELDS = Object.values(BATCH);

/** Finds the starts of the frames. Stops at an invalid length. */
function framesOf(bytes: Buffer): number[] {
  const starts = [];
  for (let at = 0; at >= 0 && at + BATCH.records <= bytes.length;) {
    starts.push(at);
    const length = bytes.readInt32BE(at + BATCH.length);
    if (length < 0) break;
    at += FRAME_BYTES + length;
  }
  return starts;
}

type Mutation = (bytes: Buffer, random: Random) => Buffer;

const MUTATIONS: readonly Mutation[] = [
  function flipBits(bytes, random) {
    for (let left = 1 + random(8); left > 0 && bytes.length > 0; left--) {
      const at = random(bytes.length);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << random(8));
    }
    return bytes;
  },
  function truncate(bytes, random) {
    return bytes.subarray(0, random(bytes.length + 1));
  },
  function attackField(bytes, random) {
    const starts = framesOf(bytes);
    const start = starts[random(starts.length)] ?? 0;
    const at = start + (FIELDS[random(FIELDS.length)] ?? 0);
    if (at + 4 > bytes.length) return bytes;
    bytes.writeInt32BE(INTERESTING[random(INTERESTING.length)] ?? 0, at);
    return bytes;
  },
  function attackVarint(bytes, random) {
    const at = random(bytes.length + 1);
    return bytes.fill(
      [0xff, 0x80, 0x00, 0x7f, 0x01][random(5)] ?? 0,
      at,
      Math.min(at + random(11), bytes.length),
    );
  },
  function splice(bytes, random) {
    const other = RESPONSES[random(RESPONSES.length)] ?? bytes;
    const from = random(other.length);
    const piece = other.subarray(from, from + random(200));
    const at = random(bytes.length + 1);
    return Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(at + random(200))]);
  },
];

/** Recomputes the CRCs, so that the checks after the CRC check are reached too. */
function reseal(bytes: Buffer): void {
  for (const start of framesOf(bytes)) {
    const end = start + FRAME_BYTES + bytes.readInt32BE(start + BATCH.length);
    if (end > start + BATCH.records && end <= bytes.length) sealBatch(bytes.subarray(start, end));
  }
}

function mutated(random: Random): Buffer {
  let bytes = Buffer.from(RESPONSES[random(RESPONSES.length)] ?? '');
  for (let left = 1 + random(3); left > 0; left--) {
    const mutate = MUTATIONS[random(MUTATIONS.length)];
    if (mutate) bytes = Buffer.from(mutate(bytes, random));
  }
  if (random(3) > 0) reseal(bytes);
  return bytes;
}

/** Uses every part of a record, as an application can, and asserts every invariant. */
function inspect(record: BrokerRecord, position: number): void {
  const ordered = record.offset >= position && Number.isSafeInteger(record.offset);
  if (!ordered) throw new Error(`offset ${record.offset} came at position ${position}`);
  if (!Number.isSafeInteger(record.timestamp)) throw new Error(`timestamp ${record.timestamp}`);
  const size = sizeOfRecord(record, 2 ** 52, 2 ** 30);
  if (size > MAX_INFLATED) throw new Error(`a record of ${size} bytes came out of a small answer`);
  for (const part of [record.key, record.value, ...record.headers.map(({ value }) => value)]) {
    const pinned = part?.buffer.byteLength ?? 0;
    if (pinned > Math.max(CHUNK_BYTES, size)) throw new Error(`${size} bytes pin ${pinned}`);
  }
}

interface Outcome {
  readonly records: number;
  readonly error: string | undefined;
}

function readWhole(bytes: Buffer, random: Random): Outcome {
  const fetchOffset = random(4) === 0 ? 110 : 100;
  const reader = new RecordBatchReader(bytes, {
    topic: 'fuzzed',
    partition: 0,
    fetchOffset,
    checkCrc: random(2) === 0,
    isolation: random(2) === 0 ? 'read_committed' : 'read_uncommitted',
    abortedTransactions: [{ producerId: 1n, firstOffset: 100 }],
    maxInflatedBytes: MAX_INFLATED,
    codecs: random(2) === 0 ? standardCodecs : ourOwnCodecs,
  });
  endOfBatches(bytes, fetchOffset);
  let count = 0;
  let position = fetchOffset;
  try {
    while (!reader.done) {
      const records = reader.next(1 + random(40));
      for (const record of records) {
        inspect(record, position);
        position = record.offset + 1;
      }
      count += records.length;
      if (reader.position < position) throw new Error(`the position fell to ${reader.position}`);
      position = reader.position;
      if (records.length === 0 && !reader.done) throw new Error('no records, and not done');
    }
    return { records: count, error: undefined };
  } catch (error) {
    if (!(error instanceof BrokerError)) throw error;
    if (reader.position < position) throw new Error('the position fell', { cause: error });
    if (error instanceof PartitionError && error.offset !== reader.position) {
      throw new Error('the error has another position', { cause: error });
    }
    return { records: count, error: error.code };
  }
}

/** Also tests the JavaScript zstd decoder if Node.js has a native one. */
const ourOwnCodecs = new CodecRegistry([gzip, snappy, lz4, javascriptZstd]);

describe('mutated fetch responses', () => {
  it('are valid before they are mutated', () => {
    expect(javascriptZstd.inflate(zstdOfForty, MAX_INFLATED)).toEqual(batch(100, 40).subarray(61));
  });

  it(`return records or throw a typed error (${RUNS} runs)`, () => {
    const seen = new Map<string, number>();
    for (let seed = FIRST_SEED; seed < FIRST_SEED + RUNS; seed++) {
      const began = process.hrtime.bigint();
      try {
        const random = randomFrom(seed);
        const { records, error } = readWhole(mutated(random), random);
        const kind = `${error ?? 'whole'}${records > 0 ? ' with records' : ''}`;
        seen.set(kind, (seen.get(kind) ?? 0) + 1);
        const took = Number(process.hrtime.bigint() - began) / 1e6;
        if (took > LONGEST_RUN_MS) throw new Error(`it took ${took} ms`);
      } catch (cause) {
        throw new Error(`FUZZ_SEED=${seed} FUZZ_RUNS=1 repeats this failure`, { cause });
      }
    }
    // Asserts that the mutations reach every code path. Otherwise this test would prove little.
    if (RUNS >= 1_000) {
      expect([...seen.keys()].toSorted()).toEqual([
        'MALFORMED_RESPONSE',
        'POISON_BATCH',
        'POISON_BATCH with records',
        'whole',
        'whole with records',
      ]);
    }
  }, 600_000);
});
