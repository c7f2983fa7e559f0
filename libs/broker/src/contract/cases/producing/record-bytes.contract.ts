import assert from 'node:assert/strict';
import type { Compression } from '../../../port/producer.js';
import type { BrokerRecord, OutgoingRecord } from '../../../port/record.js';
import { numbered } from '../../test-values.js';
import { valueOf } from '../../member.js';
import type { ContractSuite } from '../../contract-suite.js';
import type { CaseContext } from '../../case-context.js';

const everyByte = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));

const payloads: Readonly<Record<string, Omit<OutgoingRecord, 'topic'>>> = {
  'a null key': { key: null, value: 'value' },
  'an empty key, which is not null': { key: '', value: 'value' },
  'a tombstone': { key: 'key', value: null },
  'an empty value, which is not null': { key: 'key', value: '' },
  'a null key and a null value': { key: null, value: null },
  'every byte': { key: everyByte, value: everyByte },
  'text beyond ASCII': { key: 'Zürich', value: '日本語 🚆 é' },
};

const headers: Readonly<Record<string, OutgoingRecord['headers']>> = {
  'no headers': [],
  'a repeated header key, in order': [
    { key: 'a', value: '1' },
    { key: 'b', value: '2' },
    { key: 'a', value: '3' },
  ],
  'null and empty header values': [
    { key: 'null', value: null },
    { key: 'empty', value: '' },
  ],
  'binary header values and unusual keys': [
    { key: 'bytes', value: everyByte },
    { key: '', value: 'empty key' },
    { key: 'ключ 🚆', value: 'é' },
  ],
  'header keys that are not UTF-8, of which two have the same text': [
    { key: 'a\ufffd', keyBytes: Buffer.from([0x61, 0xff]), value: '1' },
    { key: 'a\ufffd', value: '2' },
    { key: 'a\ufffd', keyBytes: Buffer.from([0x61, 0xfe]), value: null },
  ],
};

export function recordBytesContract({ testCase, requiring }: ContractSuite): void {
  for (const [what, payload] of Object.entries(payloads))
    testCase(`a record with ${what} is returned as it was sent`, async (context) => {
      const record = await roundTrip(context, payload);
      assert.deepEqual(record.key, bytes(payload.key));
      assert.deepEqual(record.value, bytes(payload.value));
    });

  for (const [what, given] of Object.entries(headers))
    testCase(`a record with ${what} is returned as it was sent`, async (context) => {
      const record = await roundTrip(context, { value: 'value', headers: given });
      const expected = (given ?? []).map((header) => ({ ...header, value: bytes(header.value) }));
      assert.deepEqual(
        record.headers.map((header) => ({ ...header })),
        expected,
      );
    });

  testCase('the timestamp of the record is kept', async (context) => {
    const timestamp = context.runtime.now() - 86_400_000;
    const record = await roundTrip(context, { value: 'old', timestamp });
    assert.deepEqual([record.timestamp, record.timestampType], [timestamp, 'CreateTime']);
  });

  testCase("a record without a timestamp gets the producer's time", async (context) => {
    const before = context.runtime.now();
    const { timestamp } = await roundTrip(context, { value: 'new' });
    assert.ok(timestamp >= before && timestamp <= context.runtime.now(), `got ${timestamp}`);
  });

  testCase("a record gets the broker's time if the topic uses LogAppendTime", async (context) => {
    const topic = await context.topic(1, { 'message.timestamp.type': 'LogAppendTime' });
    const longAgo = context.runtime.now() - 86_400_000;
    const [written] = await context.send([{ topic, value: 'x', timestamp: longAgo, partition: 0 }]);
    const [record] = await (await context.join({ topics: [topic] })).read(1);
    assert.ok(record && record.timestamp > longAgo + 3_600_000, `got ${record?.timestamp}`);
    assert.equal(written?.timestamp, record.timestamp);
    assert.equal(record.timestampType, 'LogAppendTime');
  });

  testCase('timestamps that do not increase are kept', async (context) => {
    const topic = await context.topic();
    const now = context.runtime.now();
    const timestamps = [now, now - 60_000, now - 1, now - 3_600_000];
    await context.send(
      timestamps.map((timestamp) => ({ topic, partition: 0, value: 'v', timestamp })),
    );
    const records = await (await context.join({ topics: [topic] })).read(4);
    assert.deepEqual(
      records.map(({ timestamp }) => timestamp),
      timestamps,
    );
  });

  testCase('poll returns the leader epoch of each record', async (context) => {
    const { leaderEpoch } = await roundTrip(context, { value: 'value' });
    assert.ok(Number.isInteger(leaderEpoch) && leaderEpoch >= 0, `got ${leaderEpoch}`);
  });

  testCase('records share no bytes: writing into one changes no other', async (context) => {
    const topic = await context.topic();
    await context.write(topic, numbered(3));
    const member = await context.join({ topics: [topic] });
    const [first, ...others] = await member.read(3);
    first?.value?.fill(0xff);
    assert.deepEqual(others.map(valueOf), ['1', '2']);
    member.session.seek({ topic, partition: 0 }, 0);
    assert.deepEqual(await member.readValues(3), numbered(3));
  });

  testCase('poll returns a record that is larger than every limit of a fetch', async (context) => {
    const topic = await context.topic();
    const large = 'x'.repeat(300_000);
    await context.write(topic, [large, 'after']);
    const fetch = { maxBytes: 10_000, maxPartitionBytes: 1_000 };
    const member = await context.join({ topics: [topic], fetch });
    assert.deepEqual(await member.readValues(2), [large, 'after']);
  });

  for (const compression of ['gzip', 'snappy', 'lz4', 'zstd'] as const)
    requiring(compression)(`poll reads records compressed with ${compression}`, async (context) => {
      const topic = await context.topic();
      const values = [...numbered(100).map((value) => value.repeat(50)), '', noise(200_000)];
      await writeWith(context, compression, topic, values);
      const member = await context.join({ topics: [topic] });
      assert.deepEqual(await member.readValues(values.length), values);
    });

  testCase('poll reads consecutive batches with different compressions', async (context) => {
    const topic = await context.topic();
    const { compressions } = context.driver.capabilities;
    const rounds = [...compressions, ...compressions];
    const values = rounds.map((compression, round) => `${compression} ${round} `.repeat(30));
    for (const [round, compression] of rounds.entries())
      await writeWith(context, compression, topic, [values[round] ?? '']);
    const member = await context.join({ topics: [topic] });
    assert.deepEqual(await member.readValues(values.length), values);
  });
}

async function writeWith(
  context: CaseContext,
  compression: Compression,
  topic: string,
  values: readonly string[],
): Promise<void> {
  const producer = context.producer({ compression });
  await context.within(
    producer.send(values.map((value) => ({ topic, partition: 0, value }))),
    `${values.length} records to be written with ${compression}`,
  );
  await producer.close();
}

/** Returns text with few repetitions, which exceeds the block size of every codec except one. */
function noise(length: number): string {
  const letters: string[] = [];
  for (let state = 1; letters.length < length;) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    letters.push(String.fromCharCode(33 + ((state >>> 16) % 90)));
  }
  return letters.join('');
}

async function roundTrip(
  context: CaseContext,
  payload: Omit<OutgoingRecord, 'topic'>,
): Promise<BrokerRecord> {
  const topic = await context.topic();
  await context.send([{ ...payload, topic, partition: 0 }]);
  const [record] = await (await context.join({ topics: [topic] })).read(1);
  assert.ok(record);
  assert.deepEqual([record.topic, record.partition, record.offset], [topic, 0, 0]);
  return record;
}

function bytes(value: Buffer | string | null | undefined): Buffer | null {
  return typeof value === 'string' ? Buffer.from(value) : (value ?? null);
}
