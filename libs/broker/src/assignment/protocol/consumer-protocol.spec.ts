import fc from 'fast-check';
import { MalformedResponseError } from '../../port/errors.js';
import {
  decodeAssignment,
  decodeSubscription,
  encodeAssignment,
  encodeSubscription,
  NO_GENERATION,
  type Subscription,
} from './consumer-protocol.js';

interface KafkajsProtocol {
  readonly MemberMetadata: {
    encode(metadata: { version: number; topics: string[]; userData?: Buffer }): Buffer;
    decode(bytes: Buffer): { version: number; topics: string[]; userData: Buffer };
  };
  readonly MemberAssignment: {
    encode(assignment: { version: number; assignment: Record<string, number[]> }): Buffer;
    decode(bytes: Buffer): { version: number; assignment: Record<string, number[]> };
  };
}

const kafkajs = jest.requireActual<KafkajsProtocol>('kafkajs/src/consumer/assignerProtocol.js');

const full: Subscription = {
  topics: ['audit', 'orders'],
  userData: Buffer.from([1, 2]),
  owned: [
    { topic: 'audit', partition: 1 },
    { topic: 'orders', partition: 0 },
    { topic: 'orders', partition: 2 },
  ],
  generation: 7,
  rack: 'rack-a',
};
const bare: Subscription = {
  topics: ['orders'],
  userData: null,
  owned: [],
  generation: NO_GENERATION,
  rack: null,
};

/** The bytes that ConsumerProtocol of the Java client 4.1.1 writes for the subscription `full`. */
const java = {
  v0: '0000000000020005617564697400066f7264657273000000020102',
  v1: '0001000000020005617564697400066f72646572730000000201020000000200056175646974000000010000000100066f7264657273000000020000000000000002',
  v2: '0002000000020005617564697400066f72646572730000000201020000000200056175646974000000010000000100066f726465727300000002000000000000000200000007',
  v3: '0003000000020005617564697400066f72646572730000000201020000000200056175646974000000010000000100066f72646572730000000200000000000000020000000700067261636b2d61',
  bare: '00030000000100066f7264657273ffffffff00000000ffffffffffff',
  assignment:
    '00030000000200066f7264657273000000020000000000000002000561756469740000000100000001ffffffff',
  emptyAssignment: '000000000000ffffffff',
};
const hex = (text: string): Buffer => Buffer.from(text, 'hex');

describe('consumer protocol subscription', () => {
  it('encodes version 3 byte for byte as Java does', () => {
    expect(encodeSubscription(full).toString('hex')).toBe(java.v3);
    expect(encodeSubscription(bare).toString('hex')).toBe(java.bare);
  });

  it.each([
    ['v3', java.v3, full],
    ['v3 without optional fields', java.bare, bare],
    ['v2', java.v2, { ...full, rack: null }],
    ['v1', java.v1, { ...full, rack: null, generation: NO_GENERATION }],
    ['v0', java.v0, { ...full, rack: null, generation: NO_GENERATION, owned: [] }],
  ])("decodes Java's %s", (_version, bytes, expected) => {
    expect(decodeSubscription(hex(bytes))).toEqual(expected);
  });

  it('encodes the same contents to the same bytes, in any order', () => {
    const shuffled = {
      ...full,
      topics: ['orders', 'audit', 'orders'],
      owned: [...full.owned].reverse(),
    };
    expect(encodeSubscription(shuffled)).toEqual(encodeSubscription(full));
  });

  it('round-trips any subscription', () => {
    fc.assert(
      fc.property(subscriptions(), (subscription) => {
        expect(decodeSubscription(encodeSubscription(subscription))).toEqual(subscription);
      }),
    );
  });

  it('decodes a newer version by the fields known here', () => {
    const newer = Buffer.concat([hex(java.v3), Buffer.from('what version 9 adds')]);
    newer.writeInt16BE(9, 0);
    expect(decodeSubscription(newer)).toEqual(full);
  });

  it('decodes as many fields as there are if bytes end before the fields of the version', () => {
    const early = hex(java.v0);
    early.writeInt16BE(1, 0);
    expect(decodeSubscription(early)).toEqual({
      ...full,
      owned: [],
      generation: NO_GENERATION,
      rack: null,
    });
  });

  it('keeps no reference to the response', () => {
    const response = hex(java.v3);
    const { userData } = decodeSubscription(response);
    response.fill(0xff);
    expect(userData).toEqual(Buffer.from([1, 2]));
  });

  it('agrees with kafkajs on the common fields', () => {
    const theirs = { version: 0, topics: ['audit', 'orders'], userData: Buffer.from([1, 2]) };
    expect(decodeSubscription(kafkajs.MemberMetadata.encode(theirs))).toMatchObject({
      topics: theirs.topics,
      userData: theirs.userData,
    });
    expect(kafkajs.MemberMetadata.decode(encodeSubscription(full))).toMatchObject({
      version: 3,
      topics: theirs.topics,
      userData: theirs.userData,
    });
  });

  it.each([
    ['zero bytes', ''],
    ['half a version', '00'],
    ['a negative version', 'fffe00000000ffffffff'],
    ['two billion topics', '00037fffffff'],
    ['a negative number of topics', '000380000000'],
    ['a topic longer than the bytes', '00030000000100ff61'],
    ['half of its owned partitions', java.v1.slice(0, -6)],
  ])('throws a typed error for %s', (_case, bytes) => {
    expect(() => decodeSubscription(hex(bytes))).toThrow(MalformedResponseError);
  });

  it('decodes any bytes or throw a typed error', () => {
    fc.assert(
      fc.property(mutated(hex(java.v3)), (bytes) => {
        expectReadOrTypedError(() => decodeSubscription(bytes));
      }),
      { numRuns: 2000 },
    );
  });
});

describe('consumer protocol assignment', () => {
  const partitions = full.owned;

  it.each([
    ['v3', java.assignment, partitions],
    ['v0 without partitions', java.emptyAssignment, []],
  ])("decodes Java's %s", (_version, bytes, expected) => {
    expect(byTopicAndPartition(decodeAssignment(hex(bytes)))).toEqual(expected);
  });

  it('encodes the same length and parts as Java, with sorted topics', () => {
    const encoded = encodeAssignment(partitions).toString('hex');
    const [orders, audit] = ['00066f72646572730000000200000000', '0005617564697400000001'];
    expect(encoded).toHaveLength(java.assignment.length);
    expect(encoded.indexOf(audit)).toBeLessThan(encoded.indexOf(orders));
  });

  it('decodes zero bytes as no partitions', () => {
    expect(decodeAssignment(Buffer.alloc(0))).toEqual([]);
  });

  it('round-trips any assignment', () => {
    fc.assert(
      fc.property(topicPartitions(), (expected) => {
        expect(decodeAssignment(encodeAssignment(expected))).toEqual(expected);
      }),
    );
  });

  it('assigns a partition once if it is named twice', () => {
    const twice = '0003000000020001610000000100000000000161000000020000000000000001ffffffff';
    expect(decodeAssignment(hex(twice))).toEqual([
      { topic: 'a', partition: 0 },
      { topic: 'a', partition: 1 },
    ]);
  });

  it('agrees with kafkajs', () => {
    const assignment = { audit: [1], orders: [0, 2] };
    expect(decodeAssignment(kafkajs.MemberAssignment.encode({ version: 1, assignment }))).toEqual(
      partitions,
    );
    expect(kafkajs.MemberAssignment.decode(encodeAssignment(partitions)).assignment).toEqual(
      assignment,
    );
  });

  it.each([
    ['half a version', '00'],
    ['a negative partition', '000300000001000161000000' + '01ffffffffffffffff'],
    ['a truncated list', java.assignment.slice(0, 40)],
  ])('throws a typed error for %s', (_case, bytes) => {
    expect(() => decodeAssignment(hex(bytes))).toThrow(MalformedResponseError);
  });

  it('decodes any bytes or throw a typed error', () => {
    fc.assert(
      fc.property(mutated(hex(java.assignment)), (bytes) => {
        expectReadOrTypedError(() => decodeAssignment(bytes));
      }),
      { numRuns: 2000 },
    );
  });
});

function byTopicAndPartition(partitions: Subscription['owned']): Subscription['owned'] {
  return [...partitions].sort(
    (left, right) => left.topic.localeCompare(right.topic) || left.partition - right.partition,
  );
}

function expectReadOrTypedError(read: () => unknown): void {
  try {
    read();
  } catch (error) {
    expect(error).toBeInstanceOf(MalformedResponseError);
  }
}

/** Returns truncated bytes, changed bytes or random bytes. */
function mutated(good: Buffer): fc.Arbitrary<Buffer> {
  const cut = fc.nat(good.length).map((end) => good.subarray(0, end));
  const changed = fc
    .array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 })
    .map((changes) => {
      const bytes = Buffer.from(good);
      for (const [at, value] of changes) bytes[at] = value;
      return bytes;
    });
  const noise = fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes));
  return fc.oneof(cut, changed, noise);
}

function topicPartitions(): fc.Arbitrary<Subscription['owned']> {
  return fc
    .uniqueArray(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.nat(20)), {
      selector: ([topic, partition]) => `${topic}-${partition}`,
    })
    .map((pairs) => byTopicAndPartition(pairs.map(([topic, partition]) => ({ topic, partition }))));
}

function subscriptions(): fc.Arbitrary<Subscription> {
  return fc.record({
    topics: fc.uniqueArray(fc.constantFrom('a', 'b', 'ü', 'z')).map((topics) => topics.sort()),
    userData: fc.option(fc.uint8Array({ maxLength: 9 }).map((bytes) => Buffer.from(bytes))),
    owned: topicPartitions(),
    generation: fc.integer({ min: -1, max: 2 ** 31 - 1 }),
    rack: fc.option(fc.constantFrom('', 'rack-a')),
  });
}
