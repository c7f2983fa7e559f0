import {
  addOffsetsRequest,
  addPartitionsRequest,
  endTransactionRequest,
  findTransactionCoordinatorRequest,
  transactionOffsetCommitRequest,
} from './transaction-requests.js';
import { produceRequest } from './produce-request.js';
import { transactionalProducerIdRequest } from './producer-id-request.js';
import { ClusterFeatures } from '../cluster/cluster-features.js';
import {
  transactionProtocolOf,
  type TransactionProtocol,
} from '../cluster/transaction-protocol.js';
import { Writer } from './writer.js';

const producer = {
  transactionalId: 'tx',
  producerId: 258n,
  producerEpoch: 3,
  protocol: 'v1',
} as const;
const PRODUCER = '037478' + '0000000000000102' + '0003';
const hex = async (body: Buffer | Promise<Buffer>): Promise<string> => (await body).toString('hex');

describe('transaction requests', () => {
  it('find the coordinator of a transactional id, not of a group', async () => {
    expect(await hex(findTransactionCoordinatorRequest('tx').encode(2))).toBe('00027478' + '01');
  });

  it('take over the id unconditionally, or only from the given producer epoch', async () => {
    const nobody = 'ff'.repeat(10);
    const init = (current?: typeof producer) =>
      hex(transactionalProducerIdRequest('tx', 60_000, current).encode(4));
    expect(await init()).toBe('037478' + '0000ea60' + nobody + '00');
    expect(await init(producer)).toBe('037478' + '0000ea60' + PRODUCER.slice(6) + '00');
  });

  it('add partitions to the transaction, grouped by topic', async () => {
    const request = addPartitionsRequest(producer, [
      { topic: 'a', partition: 1 },
      { topic: 'b', partition: 0 },
      { topic: 'a', partition: 2 },
    ]);
    const a = '0261' + '03' + '00000001' + '00000002' + '00';
    const b = '0262' + '02' + '00000000' + '00';
    expect(await hex(request.encode(3))).toBe(PRODUCER + '03' + a + b + '00');
  });

  it('add a group to the transaction', async () => {
    const request = addOffsetsRequest(producer, 'g');
    expect(await hex(request.encode(3))).toBe(PRODUCER + '0267' + '00');
  });

  it.each([
    [undefined, '00'],
    [null, '00'],
    ['i', '0269'],
  ])(
    'commit offsets as a member in its generation, with group instance id %s',
    async (groupInstanceId, bytes) => {
      const owner = { groupId: 'g', generation: 5, memberId: 'm', groupInstanceId };
      const request = transactionOffsetCommitRequest(producer, owner, [
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

  it('commit or abort the transaction', async () => {
    expect(await hex(endTransactionRequest(producer, true).encode(3))).toBe(PRODUCER + '01' + '00');
    expect(await hex(endTransactionRequest(producer, false).encode(3))).toBe(
      PRODUCER + '00' + '00',
    );
  });

  it('contain the transactional id in a produce request', async () => {
    const start = '00027478' + 'ffff' + '000003e8';
    expect(await hex(produceRequest(1_000, [], 'tx').encode(8))).toBe(start + '00000000');
  });

  it('use flexible fields for a produce request in which the broker adds the partition', async () => {
    const batch = Buffer.from('abcd', 'hex');
    const written = [
      { topic: 'a', partition: 1, batch },
      { topic: 'a', partition: 2, batch },
    ];
    const start = '037478' + 'ffff' + '000003e8';
    const partitions = '03' + '00000001' + '03abcd' + '00' + '00000002' + '03abcd' + '00';
    expect(await hex(produceRequest(1_000, written, 'tx', 'v2').encode(12))).toBe(
      start + '02' + '0261' + partitions + '00' + '00',
    );
  });

  it('have different versions for the two transaction protocols', () => {
    const owner = { groupId: 'g', generation: 1, memberId: 'm' };
    const versionsIn = (protocol: TransactionProtocol) =>
      [
        transactionOffsetCommitRequest({ ...producer, protocol }, owner, []),
        endTransactionRequest({ ...producer, protocol }, true),
        produceRequest(1, [], 'tx', protocol),
      ].map(({ apiName, versions }) => [apiName, versions]);
    expect(versionsIn('v1')).toEqual([
      ['TxnOffsetCommit', [3]],
      ['EndTxn', [3]],
      ['Produce', [8]],
    ]);
    expect(versionsIn('v2')).toEqual([
      ['TxnOffsetCommit', [5]],
      ['EndTxn', [5]],
      ['Produce', [12]],
    ]);
    expect(addPartitionsRequest(producer, []).versions).toEqual([3]);
    expect(addOffsetsRequest(producer, 'g').versions).toEqual([3]);
  });

  it.each([
    [undefined, 'v1'],
    [0, 'v1'],
    [1, 'v1'],
    [2, 'v2'],
    [3, 'v2'],
  ])(
    'selects the transaction protocol by the finalized transaction.version: %s is %s',
    (level, protocol) => {
      const features = new ClusterFeatures();
      const levels = level === undefined ? [] : [['transaction.version', level] as const];
      features.update({ epoch: 1, levels: new Map(levels) });
      expect(transactionProtocolOf(features)).toBe(protocol);
    },
  );
});

describe('transaction responses', () => {
  it('return the only error code', () => {
    const answer = new Writer().int32(0).int16(51).noTags().toBuffer();
    expect(addOffsetsRequest(producer, 'g').decode(answer, 3)).toEqual({ code: 51 });
    expect(endTransactionRequest(producer, true).decode(answer, 3)).toEqual({ code: 51 });
  });

  it('return a code for each partition', () => {
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
    expect(transactionOffsetCommitRequest(producer, owner, []).decode(answer, 3)).toEqual(expected);
  });

  it('return the next producer id and epoch if EndTxn has increased the epoch', () => {
    const request = endTransactionRequest({ ...producer, protocol: 'v2' }, true);
    const answer = (code: number, producerId: bigint, epoch: number) =>
      new Writer().int32(0).int16(code).int64(producerId).int16(epoch).noTags().toBuffer();
    expect(request.decode(answer(0, 2n ** 40n, 4), 5)).toEqual({
      code: 0,
      next: { producerId: 2n ** 40n, producerEpoch: 4 },
    });
    expect(request.decode(answer(51, -1n, -1), 5)).toEqual({ code: 51 });
    expect(request.decode(answer(0, -1n, -1), 5)).toEqual({ code: 0 });
  });

  it('return each partition with its faulty records, in flexible fields, and the throttle time', () => {
    const writer = new Writer();
    writer.compactArray(['a', 'b'], (topic) => {
      writer.compactString(topic);
      writer.compactArray([1], () => {
        writer.int32(1).int16(120).int64(7).int64(-1).int64(0);
        writer.compactArray([3], (index) => writer.int32(index).compactString('bad').noTags());
        // The current leader, as a tagged field.
        writer.compactNullableString('reason').unsignedVarint(1).unsignedVarint(0);
        writer.unsignedVarint(2).raw(Buffer.alloc(2));
      });
      writer.noTags();
    });
    const body = writer.int32(250).noTags().toBuffer();
    const request = produceRequest(1, [], 'tx', 'v2');
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
        message: 'reason',
      })),
    );
  });
});
