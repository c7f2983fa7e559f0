import {
  addOffsetsRequest,
  addPartitionsRequest,
  endTransactionRequest,
  findTransactionCoordinatorRequest,
  offsetsInTransactionRequest,
} from './transaction-requests.js';
import { produceRequest } from './produce-request.js';
import { transactionalProducerIdRequest } from './producer-id-request.js';
import { ClusterFeatures } from '../cluster/cluster-features.js';
import { transactionFlowOf, type TransactionFlow } from '../cluster/transaction-flow.js';
import { Writer } from './writer.js';

const producer = {
  transactionalId: 'tx',
  producerId: 258n,
  producerEpoch: 3,
  flow: 'announced',
} as const;
const PRODUCER = '037478' + '0000000000000102' + '0003';
const hex = async (body: Buffer | Promise<Buffer>): Promise<string> => (await body).toString('hex');

describe('the requests of a transaction', () => {
  it('look for the coordinator of the id, which is another than that of a group', async () => {
    expect(await hex(findTransactionCoordinatorRequest('tx').encode(2))).toBe('00027478' + '01');
  });

  it('take over the id, or name the producer that has it', async () => {
    const nobody = 'ff'.repeat(10);
    const init = (current?: typeof producer) =>
      hex(transactionalProducerIdRequest('tx', 60_000, current).encode(4));
    expect(await init()).toBe('037478' + '0000ea60' + nobody + '00');
    expect(await init(producer)).toBe('037478' + '0000ea60' + PRODUCER.slice(6) + '00');
  });

  it('add partitions, by topic', async () => {
    const request = addPartitionsRequest(producer, [
      { topic: 'a', partition: 1 },
      { topic: 'b', partition: 0 },
      { topic: 'a', partition: 2 },
    ]);
    const a = '0261' + '03' + '00000001' + '00000002' + '00';
    const b = '0262' + '02' + '00000000' + '00';
    expect(await hex(request.encode(3))).toBe(PRODUCER + '03' + a + b + '00');
  });

  it('add a group', async () => {
    const request = addOffsetsRequest(producer, 'g');
    expect(await hex(request.encode(3))).toBe(PRODUCER + '0267' + '00');
  });

  it.each([
    [undefined, '00'],
    [null, '00'],
    ['i', '0269'],
  ])(
    'commit offsets as a member of its generation, static as %s',
    async (groupInstanceId, bytes) => {
      const owner = { groupId: 'g', generation: 5, memberId: 'm', groupInstanceId };
      const request = offsetsInTransactionRequest(producer, owner, [
        { topic: 'a', partition: 1, offset: 9, leaderEpoch: 2, metadata: 'x' },
        { topic: 'a', partition: 2, offset: 10 },
      ]);
      const first = '00000001' + '0000000000000009' + '00000002' + '0278' + '00';
      const second = '00000002' + '000000000000000a' + 'ffffffff' + '00' + '00';
      expect(await hex(request.encode(3))).toBe(
        '037478' +
          '0267' +
          PRODUCER.slice(6) +
          ('00000005' + '026d' + bytes) +
          ('02' + '0261' + '03' + first + second + '00' + '00'),
      );
    },
  );

  it('end it either way', async () => {
    expect(await hex(endTransactionRequest(producer, true).encode(3))).toBe(PRODUCER + '01' + '00');
    expect(await hex(endTransactionRequest(producer, false).encode(3))).toBe(
      PRODUCER + '00' + '00',
    );
  });

  it('name the id where records are written', async () => {
    const start = '00027478' + 'ffff' + '000003e8';
    expect(await hex(produceRequest(1_000, [], 'tx').encode(8))).toBe(start + '00000000');
  });

  it('name the id where brokers add the partition by themselves, with flexible fields', async () => {
    const batch = Buffer.from('abcd', 'hex');
    const written = [
      { topic: 'a', partition: 1, batch },
      { topic: 'a', partition: 2, batch },
    ];
    const start = '037478' + 'ffff' + '000003e8';
    const partitions = '03' + '00000001' + '03abcd' + '00' + '00000002' + '03abcd' + '00';
    expect(await hex(produceRequest(1_000, written, 'tx', 'implied').encode(12))).toBe(
      start + '02' + '0261' + partitions + '00' + '00',
    );
  });

  it('keep the two flows of Kafka 4 apart by their versions', () => {
    const owner = { groupId: 'g', generation: 1, memberId: 'm' };
    const versionsIn = (flow: TransactionFlow) =>
      [
        offsetsInTransactionRequest({ ...producer, flow }, owner, []),
        endTransactionRequest({ ...producer, flow }, true),
        produceRequest(1, [], 'tx', flow),
      ].map(({ apiName, versions }) => [apiName, versions]);
    expect(versionsIn('announced')).toEqual([
      ['TxnOffsetCommit', [3]],
      ['EndTxn', [3]],
      ['Produce', [8]],
    ]);
    expect(versionsIn('implied')).toEqual([
      ['TxnOffsetCommit', [5]],
      ['EndTxn', [5]],
      ['Produce', [12]],
    ]);
    expect(addPartitionsRequest(producer, []).versions).toEqual([3]);
    expect(addOffsetsRequest(producer, 'g').versions).toEqual([3]);
  });

  it.each([
    [undefined, 'announced'],
    [0, 'announced'],
    [1, 'announced'],
    [2, 'implied'],
    [3, 'implied'],
  ])('are those of the finalized transaction.version: %s is %s', (level, flow) => {
    const features = new ClusterFeatures();
    const levels = level === undefined ? [] : [['transaction.version', level] as const];
    features.learn({ epoch: 1, levels: new Map(levels) });
    expect(transactionFlowOf(features)).toBe(flow);
  });
});

describe('the answers of a transaction', () => {
  it('have a code of their own', () => {
    const answer = new Writer().int32(0).int16(51).noTags().toBuffer();
    expect(addOffsetsRequest(producer, 'g').decode(answer, 3)).toEqual({ code: 51 });
    expect(endTransactionRequest(producer, true).decode(answer, 3)).toEqual({ code: 51 });
  });

  it('have a code for each partition', () => {
    const writer = new Writer().int32(0);
    writer.compactArray(['a', 'b'], (topic) => {
      writer.compactString(topic);
      writer.compactArray([3, 55], (code) => writer.int32(1).int16(code).noTags()).noTags();
    });
    const answer = writer.noTags().toBuffer();
    const expected = ['a', 'b'].flatMap((topic) =>
      [3, 55].map((code) => ({ topic, partition: 1, code })),
    );
    expect(addPartitionsRequest(producer, []).decode(answer, 3)).toEqual(expected);
    const owner = { groupId: 'g', generation: 1, memberId: 'm' };
    expect(offsetsInTransactionRequest(producer, owner, []).decode(answer, 3)).toEqual(expected);
  });

  it('tell whom to write the next one as, where the end has raised the epoch', () => {
    const request = endTransactionRequest({ ...producer, flow: 'implied' }, true);
    const answer = (code: number, producerId: bigint, epoch: number) =>
      new Writer().int32(0).int16(code).int64(producerId).int16(epoch).noTags().toBuffer();
    expect(request.decode(answer(0, 2n ** 40n, 4), 5)).toEqual({
      code: 0,
      next: { producerId: 2n ** 40n, producerEpoch: 4 },
    });
    expect(request.decode(answer(51, -1n, -1), 5)).toEqual({ code: 51 });
    expect(request.decode(answer(0, -1n, -1), 5)).toEqual({ code: 0 });
  });

  it('tell of every partition and its faulty records, with flexible fields and a throttle', () => {
    const writer = new Writer();
    writer.compactArray(['a', 'b'], (topic) => {
      writer.compactString(topic);
      writer.compactArray([1], () => {
        writer.int32(1).int16(120).int64(7).int64(-1).int64(0);
        writer.compactArray([3], (index) => writer.int32(index).compactString('bad').noTags());
        // The leader that is known to be, in a tagged field.
        writer.compactNullableString('said').unsignedVarint(1).unsignedVarint(0);
        writer.unsignedVarint(2).raw(Buffer.alloc(2));
      });
      writer.noTags();
    });
    const body = writer.int32(250).noTags().toBuffer();
    const request = produceRequest(1, [], 'tx', 'implied');
    expect(request.throttleTimeMs?.(body, 12)).toBe(250);
    expect(request.decode(body, 12)).toEqual(
      ['a', 'b'].map((topic) => ({
        topic,
        partition: 1,
        code: 120,
        baseOffset: 7,
        appendTime: -1,
        logStartOffset: 0,
        recordErrors: [{ index: 3, message: 'bad' }],
        message: 'said',
      })),
    );
  });
});
