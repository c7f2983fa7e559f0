import {
  AuthorizationError,
  RecordTooLargeError,
  RefusedError,
  UnsupportedError,
} from '../../../port/errors.js';
import { failureOf, producerOn, states } from '../producer-under-test.spec-support.js';
import { ScriptedProduceCluster } from '../scripted-produce-cluster.spec-support.js';
import { brokerCodes, reactionTo, type BrokerCode, type Reaction } from '../../../wire/index.js';

const record = (value: string) => ({ topic: 'orders', partition: 0, value });
const codes = [...brokerCodes.values()];
const named = (reactions: readonly Reaction[]): readonly [string, BrokerCode][] =>
  codes
    .filter(({ code }) => reactions.includes(reactionTo('produce', code)))
    .map((code) => [`${code.code} ${code.name}`, code]);

/**
 * Sends one record. The broker answers the first requests with `code`, and then writes the record.
 */
async function sendAgainst(code: number, refusals: number) {
  const cluster = new ScriptedProduceCluster();
  cluster.script = (_, attempt) => ({ on: () => ({ code: attempt <= refusals ? code : 0 }) });
  const producer = producerOn(cluster);
  const sending = producer.send([record('a')], { timeoutMs: 10_000 });
  const ending = sending.catch((error: unknown) => error);
  await cluster.runtime.advance(10_000);
  await producer.close();
  return { cluster, sending, ending, leakedTimers: cluster.runtime.pendingTimers };
}

describe('error code in a produce response', () => {
  it('has one of the reactions that the sender supports', () => {
    const known: readonly Reaction[] = [
      'done',
      'retry',
      'retry-unknown',
      'refresh-metadata',
      'refresh-metadata-unknown',
      'split',
      'restart-sequence',
      'new-producer-id',
      'refuse',
    ];
    expect(codes.filter(({ code }) => !known.includes(reactionTo('produce', code)))).toEqual([]);
  });

  describe.each(named(['retry', 'retry-unknown', 'refresh-metadata', 'refresh-metadata-unknown']))(
    'retriable code %s',
    (_, { code }) => {
      it('is retried until the record is written', async () => {
        const { cluster, sending, leakedTimers } = await sendAgainst(code, 2);
        expect(await sending).toMatchObject([{ partition: 0, offset: 0 }]);
        expect(cluster.produceRequests).toHaveLength(3);
        expect(cluster.log('orders', 0)).toEqual(['a']);
        expect(leakedTimers).toBe(0);
      });

      it('refreshes the metadata only if another broker may be the leader', async () => {
        const { cluster } = await sendAgainst(code, 1);
        const refreshes = reactionTo('produce', code).startsWith('refresh');
        expect(cluster.metadataAsked).toBe(refreshes ? 2 : 1);
      });

      it('fails the record at the deadline as unknown or not written, as the code says', async () => {
        const { sending, leakedTimers } = await sendAgainst(code, Number.POSITIVE_INFINITY);
        const error = await failureOf(sending);
        const mayBeWritten = reactionTo('produce', code).endsWith('unknown');
        expect(states(error)).toEqual([mayBeWritten ? 'unknown' : 'not-written']);
        expect(error.retriable).toBe(true);
        expect(leakedTimers).toBe(0);
      });
    },
  );

  describe.each(named(['refuse']))('final code %s', (_, { code }) => {
    it('fails the record as not written, without a retry', async () => {
      const { cluster, sending } = await sendAgainst(code, 1);
      const error = await failureOf(sending);
      expect(states(error)).toEqual(['not-written']);
      expect(error.retriable).toBe(false);
      expect(error.brokerCode).toBe(code);
      expect(cluster.produceRequests).toHaveLength(1);
    });
  });

  it('fails the record as unknown if the code is not in the table', async () => {
    const { cluster, sending } = await sendAgainst(9_999, 1);
    const error = await failureOf(sending);
    expect(states(error)).toEqual(['unknown']);
    expect(error.retriable).toBe(false);
    expect(cluster.produceRequests).toHaveLength(1);
  });

  it.each(named(['done']))(
    'resolves the send for code %s, with an unknown offset',
    async (_, { code }) => {
      const { sending } = await sendAgainst(code, 1);
      expect(await sending).toMatchObject([{ offset: -1 }]);
    },
  );

  it.each(named(['split']))(
    'fails a single record with code %s, because it cannot be split',
    async (_, { code }) => {
      const { sending, cluster } = await sendAgainst(code, 1);
      const [outcome] = (await failureOf(sending)).outcomes;
      expect(outcome).toMatchObject({
        state: 'not-written',
        error: expect.any(RecordTooLargeError),
      });
      expect(cluster.produceRequests).toHaveLength(1);
    },
  );

  it.each([
    [29, AuthorizationError],
    [35, UnsupportedError],
    [17, RefusedError],
    [32, RefusedError],
    [9_999, RefusedError],
  ])('maps code %i to its error class', async (code, type) => {
    const { sending } = await sendAgainst(code, 1);
    expect((await failureOf(sending)).cause).toBeInstanceOf(type);
  });
});

describe('batch that is too large for the broker', () => {
  it('is sent in halves and in order, and fails only records that are too large alone', async () => {
    const cluster = new ScriptedProduceCluster();
    const isTooLarge = (values: readonly string[]) => values.includes('huge') || values.length > 3;
    cluster.script = () => ({
      on: ({ records }) => ({
        code: isTooLarge(records.map(({ value }) => String(value))) ? 10 : 0,
      }),
    });
    const producer = producerOn(cluster);
    const values = ['a', 'b', 'c', 'd', 'huge', 'e', 'f', 'g', 'h', 'i'];
    const sending = failureOf(producer.send(values.map(record)));
    await cluster.runtime.advance(1_000);
    const error = await sending;
    expect(cluster.log('orders', 0)).toEqual(values.filter((value) => value !== 'huge'));
    expect(states(error)).toEqual(
      values.map((value) => (value === 'huge' ? 'not-written' : 'written')),
    );
    expect(error.message).toContain('1 not written, 9 written');
    await producer.close();
  });

  it('makes later batches smaller', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = () => ({ on: ({ batchBytes }) => ({ code: batchBytes > 40_000 ? 10 : 0 }) });
    const producer = producerOn(cluster);
    const records = Array.from({ length: 60 }, () => record('x'.repeat(1_000)));
    const refused = () =>
      cluster.produceRequests.filter(({ partitions }) => (partitions[0]?.batchBytes ?? 0) > 40_000)
        .length;
    for (let round = 0; round < 2; round++) {
      const sending = producer.send(records);
      await cluster.runtime.settle();
      await sending;
      expect(refused()).toBe(1);
    }
    expect(cluster.log('orders', 0)).toHaveLength(120);
    await producer.close();
  });
});

describe('batch with faulty records that the broker names', () => {
  it('fails the named records and resends the others, in order', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = () => ({
      on: ({ records }) => {
        const faulty = records.flatMap(({ value }, index) =>
          String(value).startsWith('bad') ? [[index, 'no key'] as const] : [],
        );
        return faulty.length > 0 ? { code: 87, recordErrors: faulty } : {};
      },
    });
    const producer = producerOn(cluster);
    const values = ['bad 0', 'a', 'bad 1', 'b'];
    const sending = failureOf(producer.send(values.map(record)));
    await cluster.runtime.advance(100);
    const error = await sending;
    expect(states(error)).toEqual(['not-written', 'written', 'not-written', 'written']);
    expect(error.outcomes[0]).toMatchObject({
      error: { brokerCode: 87, message: expect.stringContaining('no key') as string },
    });
    expect(cluster.log('orders', 0)).toEqual(['a', 'b']);
    await producer.close();
  });

  it('fails completely if the named positions match no record', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = () => ({ on: () => ({ code: 87, recordErrors: [[7, null]] }) });
    const producer = producerOn(cluster);
    const sending = failureOf(producer.send([record('a'), record('b')]));
    await cluster.runtime.advance(100);
    expect(states(await sending)).toEqual(['not-written', 'not-written']);
    await producer.close();
  });
});

describe('produce response without a partition', () => {
  it('leaves the result of that partition unknown, and the records are sent again', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = (_, attempt) => ({
      on: ({ partition }) =>
        attempt === 1 && partition === 0 ? { isLeftOut: true, writes: false } : {},
    });
    const producer = producerOn(cluster);
    const sending = producer.send([record('a'), { ...record('b'), partition: 1 }]);
    await cluster.runtime.advance(1_000);
    expect(await sending).toMatchObject([
      { partition: 0, offset: 0 },
      { partition: 1, offset: 0 },
    ]);
    expect(cluster.produceRequests.map(({ partitions }) => partitions.length)).toEqual([2, 1]);
    await producer.close();
  });
});
