import { metadataRequest } from './metadata-request.js';
import { Reader } from './reader.js';
import { Writer } from './writer.js';

const TOPIC_ID = 'a1'.repeat(16);
const NO_OPERATIONS = -(2 ** 31);
/** The last version with a flag for the authorized operations of the cluster. */
const LAST_WITH_CLUSTER_OPERATIONS = 10;

function answer(version: number): Buffer {
  const writer = new Writer().int32(0);
  writer.compactArray([7], (id) =>
    writer.int32(id).compactString('kafka-7').int32(9092).compactNullableString('r1').noTags(),
  );
  writer.compactNullableString('cluster').int32(7);
  writer.compactArray(['orders'], (name) => {
    writer.int16(0).compactString(name).raw(Buffer.from(TOPIC_ID, 'hex')).boolean(false);
    writer.compactArray([0], (partition) => {
      writer.int16(0).int32(partition).int32(7).int32(3);
      for (const nodes of [[7], [7], []]) writer.compactArray(nodes, (node) => writer.int32(node));
      writer.noTags();
    });
    writer.int32(NO_OPERATIONS).noTags();
  });
  if (version <= LAST_WITH_CLUSTER_OPERATIONS) writer.int32(NO_OPERATIONS);
  return writer.noTags().toBuffer();
}

describe.each([10, 11, 12])('metadata request in version %i', (version) => {
  const request = metadataRequest(['orders']);

  it('has a version that brokers since Kafka 2.8 support', () => {
    expect(request.versions).toContain(version);
  });

  it('names the topics and does not create missing ones', async () => {
    const reader = new Reader(await request.encode(version));
    const topics = reader.compactArray(() => {
      reader.raw(16);
      const name = reader.compactString();
      reader.skipTags();
      return name;
    });
    expect([topics, reader.boolean(), reader.boolean()]).toEqual([['orders'], false, false]);
    if (version <= LAST_WITH_CLUSTER_OPERATIONS) expect(reader.boolean()).toBe(false);
    reader.skipTags();
    expect(reader.remaining).toBe(0);
  });

  it('returns brokers, topics and leaders', async () => {
    expect(await request.decode(answer(version), version)).toEqual({
      brokers: [{ id: 7, host: 'kafka-7', port: 9092, rack: 'r1' }],
      clusterId: 'cluster',
      controllerId: 7,
      topics: [
        {
          code: 0,
          name: 'orders',
          id: TOPIC_ID,
          internal: false,
          partitions: [
            { code: 0, partition: 0, leader: 7, leaderEpoch: 3, replicas: [7], inSync: [7] },
          ],
        },
      ],
    });
  });
});
