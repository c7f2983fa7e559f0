import {
  consumerHeartbeatRequest,
  consumerLeaveRequest,
  JOIN_GROUP_EPOCH,
} from './consumer-heartbeat-request.js';
import { consumerDescribeRequest } from './consumer-describe-request.js';
import { offsetCommitRequest, offsetFetchRequest } from './offset-requests.js';

const hex = async (body: Buffer | Promise<Buffer>): Promise<string> => (await body).toString('hex');
const bytes = (text: string): Buffer => Buffer.from(text, 'hex');
const ID = 'ab'.repeat(16);
const member = { groupId: 'g', memberId: 'm', groupInstanceId: null };

describe('requests of a member of the consumer protocol (KIP-848)', () => {
  it('send all fields in each heartbeat', async () => {
    const claim = {
      topics: ['t'],
      rebalanceTimeoutMs: 1_000,
      owned: [{ topicId: ID, partitions: [2] }],
    };
    const owned = '02' + ID + '02' + '00000002' + '00';
    expect(await hex(consumerHeartbeatRequest(member, 7, claim).encode(1))).toBe(
      '0267' +
        '026d' +
        '00000007' +
        '00' +
        '00' +
        '000003e8' +
        '020274' +
        '00' +
        '00' +
        owned +
        '00',
    );
    const join = consumerHeartbeatRequest({ ...member, groupInstanceId: 'i' }, JOIN_GROUP_EPOCH, {
      ...claim,
      owned: [],
    });
    expect(await hex(join.encode(1))).toBe(
      '0267' +
        '026d' +
        '00000000' +
        '0269' +
        '00' +
        '000003e8' +
        '020274' +
        '00' +
        '00' +
        '01' +
        '00',
    );
  });

  it.each([
    [null, 'ffffffff', '00'],
    ['i', 'fffffffe', '0269'],
  ])(
    'send only the leave epoch when the member leaves, with group instance id %s',
    async (groupInstanceId, epoch, id) => {
      const leave = consumerLeaveRequest({ ...member, groupInstanceId });
      expect(await hex(leave.encode(1))).toBe(
        '0267' + '026d' + epoch + id + '00' + 'ffffffff' + '00' + '00' + '00' + '00' + '00',
      );
    },
  );

  it('return epoch, interval and assignment, also if the assignment is missing', async () => {
    const request = consumerLeaveRequest(member);
    const head = '00000000' + '0000' + '00' + '026d' + '00000005' + '00001388';
    const assigned = '01' + '02' + ID + '03' + '00000000' + '00000003' + '00' + '00' + '00';
    expect(await request.decode(bytes(head + assigned), 1)).toEqual({
      errorCode: 0,
      message: null,
      epoch: 5,
      intervalMs: 5_000,
      assignment: [{ topicId: ID, partitions: [0, 3] }],
    });
    const refused = '00000000' + '006e' + '0378797a'.slice(0, 6) + '00' + '00000000' + '00000000';
    expect(await request.decode(bytes(refused + 'ff' + '00'), 1)).toMatchObject({
      errorCode: 110,
      message: 'xy',
      assignment: null,
    });
  });

  it('commit offsets with the member epoch', async () => {
    const request = offsetCommitRequest({ ...member, generation: 5, protocol: 'consumer' }, [
      { topic: 't', partition: 1, offset: 9, leaderEpoch: 2, metadata: 'x' },
    ]);
    expect(request.versions).toEqual([9]);
    const commit = '00000001' + '0000000000000009' + '00000002' + '0278' + '00';
    expect(await hex(request.encode(9))).toBe(
      '0267' + '00000005' + '026d' + '00' + '02' + '0274' + '02' + commit + '00' + '00',
    );
    const answer = '00000000' + '02' + '0274' + '02' + '00000001' + '0071' + '00' + '00' + '00';
    expect(await request.decode(bytes(answer), 9)).toEqual([
      { topic: 't', partition: 1, code: 113 },
    ]);
  });

  it('fetch committed offsets with the member epoch', async () => {
    const request = offsetFetchRequest('g', [{ topic: 't', partition: 1 }], {
      member: { memberId: 'm', epoch: 5 },
    });
    expect(request.versions).toEqual([9]);
    expect(await hex(request.encode(9))).toBe(
      '02' +
        '0267' +
        '026d' +
        '00000005' +
        '02' +
        '0274' +
        '02' +
        '00000001' +
        '00' +
        '00' +
        '01' +
        '00',
    );
    const offset = '00000001' + '0000000000000009' + '00000002' + '00' + '0000' + '00';
    const group = '0267' + '02' + '0274' + '02' + offset + '00' + '0000' + '00';
    expect(await request.decode(bytes('00000000' + '02' + group + '00'), 9)).toEqual({
      code: 0,
      offsets: [
        {
          topic: 't',
          partition: 1,
          code: 0,
          committed: { offset: 9, leaderEpoch: 2, metadata: null },
        },
      ],
    });
  });

  it('describe a group with its members', async () => {
    const request = consumerDescribeRequest('g');
    expect(await hex(request.encode(0))).toBe('02' + '0267' + '00' + '00');
    const share = '02' + ID + '0274' + '02' + '00000001' + '00' + '00';
    const of =
      '026d' + '0269' + '00' + '00000005' + '0263' + '0268' + '01' + '00' + share + share + '00';
    const group =
      '0000' +
      '00' +
      '0267' +
      '0253' +
      '00000005' +
      '00000005' +
      '0275' +
      '02' +
      of +
      '80000000' +
      '00';
    expect(await request.decode(bytes('00000000' + '02' + group + '00'), 0)).toEqual([
      {
        code: 0,
        groupId: 'g',
        state: 'S',
        assignor: 'u',
        members: [
          {
            memberId: 'm',
            instanceId: 'i',
            clientId: 'c',
            host: 'h',
            assignment: [{ topic: 't', partition: 1 }],
          },
        ],
      },
    ]);
  });
});
