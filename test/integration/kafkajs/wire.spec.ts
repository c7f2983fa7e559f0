import { createServer, type Server } from 'node:net';
import type { AddressInfo } from 'node:net';
import {
  ClosedError,
  ConnectionError,
  MalformedResponseError,
  RequestTimeoutError,
} from '@nest-event-bus/broker';
import { realRuntime } from '@nest-event-bus/broker/runtime';
import {
  Cluster,
  CONTROL_CHANNEL,
  EARLIEST,
  fetchRequest,
  findCoordinatorRequest,
  LATEST,
  listOffsetsRequest,
  metadataRequest,
  offsetCommitRequest,
  offsetFetchRequest,
  defineRequest,
  produceRequest,
  kafkajsRequest,
} from '../../../libs/broker/src/wire/index.js';
import { lookUpOffsets } from '../../../libs/broker/src/client/offsets/offset-lookup.js';
import { RecordBatchReader, RecordBatchWriter } from '../../../libs/broker/src/records/index.js';
import { describeWithKafka } from '../support/index.js';

const opened: { close(): void }[] = [];

function clusterOf(
  brokers: readonly string[],
  settings: { requestTimeoutMs?: number } = {},
): Cluster {
  const cluster = new Cluster({
    brokers,
    clientId: 'wire-spec',
    connectionTimeoutMs: 1_000,
    requestTimeoutMs: settings.requestTimeoutMs ?? 5_000,
    runtime: realRuntime,
  });
  opened.push(cluster);
  return cluster;
}

afterEach(() => {
  for (const closable of opened.splice(0)) closable.close();
});

describeWithKafka('wire protocol on a real broker', (kafka) => {
  async function newTopic(cluster: Cluster): Promise<string> {
    const topic = kafka.unique('wire');
    await cluster.metadata.refresh([]);
    await cluster.request(
      'controller',
      CONTROL_CHANNEL,
      kafkajsRequest(
        'CreateTopics',
        { topics: [{ topic, numPartitions: 2 }], validateOnly: false },
        [2],
      ),
    );
    while (cluster.metadata.topic(topic)?.partitions.length !== 2)
      await cluster.metadata.refresh([topic]);
    await lookUpOffsets(
      cluster,
      [0, 1].map((partition) => ({ topic, partition, timestamp: EARLIEST })),
      { isolation: 'read_uncommitted' },
    );
    return topic;
  }

  it('returns the same metadata in every supported version', async () => {
    const cluster = clusterOf(kafka.brokers);
    const request = metadataRequest([await newTopic(cluster)]);
    const answers = request.versions.map((version) =>
      cluster.request('any', CONTROL_CHANNEL, { ...request, versions: [version] }),
    );
    const [oldest, ...newer] = await Promise.all(answers);
    expect(oldest?.topics).toMatchObject([{ code: 0, partitions: [{}, {}] }]);
    expect(newer).toEqual([oldest, oldest]);
  });

  it('writes, lists, reads and commits with the encodings of this library', async () => {
    const cluster = clusterOf(kafka.brokers);
    const topic = await newTopic(cluster);
    const leader = cluster.metadata.leader(topic, 1) as number;

    const writer = new RecordBatchWriter(1024);
    writer.append(
      { key: 'k', value: 'hello', headers: [{ key: 'h', value: '1' }] },
      1_700_000_000_000,
    );
    const [written] = await cluster.request(
      leader,
      'produce:1',
      produceRequest(5_000, [{ topic, partition: 1, batch: writer.finish() }]),
    );
    expect(written).toMatchObject({ topic, partition: 1, code: 0, baseOffset: 0 });

    const listed = await cluster.request(
      leader,
      CONTROL_CHANNEL,
      listOffsetsRequest('read_uncommitted', [
        { topic, partition: 1, timestamp: LATEST },
        { topic, partition: 0, timestamp: EARLIEST },
      ]),
    );
    const ends = new Map(listed.map(({ partition, offset }) => [partition, offset]));
    expect(ends).toEqual(
      new Map([
        [0, 0],
        [1, 1],
      ]),
    );

    const fetched = await cluster.request(
      leader,
      'fetch-long:1',
      fetchRequest({
        maxWaitMs: 1_000,
        minBytes: 1,
        maxBytes: 1 << 20,
        isolation: 'read_committed',
        partitions: [
          {
            topic,
            topicId: cluster.metadata.topic(topic)?.id ?? null,
            partition: 1,
            offset: 0,
            leaderEpoch: 0,
            maxBytes: 1 << 20,
          },
        ],
      }),
    );
    const reader = new RecordBatchReader(fetched.partitions[0]?.records ?? Buffer.alloc(0), {
      topic,
      partition: 1,
      fetchOffset: 0,
    });
    const [record] = reader.next(10);
    expect(record?.value?.toString()).toBe('hello');
    expect(record?.headers).toEqual([{ key: 'h', value: Buffer.from('1') }]);

    const groupId = kafka.unique('wire');
    const anonymous = { groupId, generation: -1, memberId: '' };
    const committed = await askCoordinator(cluster, groupId, (node) =>
      cluster.request(
        node,
        'group:1',
        offsetCommitRequest(anonymous, [{ topic, partition: 1, offset: 1, metadata: 'zürich' }]),
      ),
    );
    expect(committed).toEqual([{ topic, partition: 1, code: 0 }]);
    const { offsets } = await askCoordinator(cluster, groupId, (node) =>
      cluster.request(node, 'group:1', offsetFetchRequest(groupId, 'all')),
    );
    expect(offsets).toEqual([
      {
        topic,
        partition: 1,
        code: 0,
        committed: { offset: 1, leaderEpoch: -1, metadata: 'zürich' },
      },
    ]);
  });

  it('describes an unknown topic without creating it', async () => {
    const cluster = clusterOf(kafka.brokers);
    const topic = kafka.unique('nowhere');
    await cluster.metadata.refresh([topic]);
    expect(cluster.metadata.topic(topic)?.code).toBe(3);
    await cluster.metadata.refresh([topic]);
    expect(cluster.metadata.topic(topic)?.code).toBe(3);
  });

  it('keeps no timer for an idle connection', async () => {
    const cluster = clusterOf(kafka.brokers);
    await cluster.metadata.refresh([]);
    const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const other = clusterOf(kafka.brokers);
    await other.metadata.refresh([]);
    expect(process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length).toBe(
      timers,
    );
  });

  it('closes the socket at the request timeout, and sends the next request on a new connection', async () => {
    const cluster = clusterOf(kafka.brokers);
    const topic = await newTopic(cluster);
    const leader = cluster.metadata.leader(topic, 0) as number;
    const longPoll = fetchRequest({
      maxWaitMs: 30_000,
      minBytes: 1,
      maxBytes: 1024,
      isolation: 'read_committed',
      partitions: [
        {
          topic,
          topicId: cluster.metadata.topic(topic)?.id ?? null,
          partition: 0,
          offset: 0,
          leaderEpoch: -1,
          maxBytes: 1024,
        },
      ],
    });
    const started = realRuntime.monotonic();
    await expect(
      cluster.request(leader, 'fetch-long:1', longPoll, { timeoutMs: 100 }),
    ).rejects.toThrow(RequestTimeoutError);
    await cluster.request(leader, 'fetch-long:1', metadataRequest([topic]));
    expect(realRuntime.monotonic() - started).toBeLessThan(20_000);
  });

  it('closes a connection at once while a long poll is in flight', async () => {
    const cluster = clusterOf(kafka.brokers);
    const topic = await newTopic(cluster);
    const waiting = cluster.request(
      cluster.metadata.leader(topic, 0) as number,
      'fetch-long:1',
      fetchRequest({
        maxWaitMs: 5_000,
        minBytes: 1,
        maxBytes: 1024,
        isolation: 'read_committed',
        partitions: [
          {
            topic,
            topicId: cluster.metadata.topic(topic)?.id ?? null,
            partition: 0,
            offset: 0,
            leaderEpoch: -1,
            maxBytes: 1024,
          },
        ],
      }),
    );
    const settled = waiting.catch((error: unknown) => error);
    await cluster.request('any', CONTROL_CHANNEL, metadataRequest([topic]));
    cluster.close();
    expect(await settled).toBeInstanceOf(ClosedError);
  });
});

async function askCoordinator<T>(
  cluster: Cluster,
  groupId: string,
  ask: (node: number) => Promise<T>,
): Promise<T> {
  for (;;) {
    const found = await cluster.request('any', CONTROL_CHANNEL, findCoordinatorRequest(groupId));
    if (found.errorCode !== 0) continue;
    const answer = await ask(found.coordinator.nodeId);
    const codes = Array.isArray(answer)
      ? answer.map((entry: { code: number }) => entry.code)
      : [(answer as { code: number }).code];
    if (codes.every((code) => code === 0)) return answer;
  }
}

describe('wire protocol with a server that is not a broker', () => {
  const servers: Server[] = [];
  afterEach(() => servers.splice(0).forEach((server) => server.close()));

  async function listenWith(answer: Buffer): Promise<string> {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.write(answer));
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  it('names each address in the error if nothing listens', async () => {
    const cluster = clusterOf(['127.0.0.1:1', '127.0.0.1:2']);
    const failed = cluster.metadata.refresh([]);
    await expect(failed).rejects.toThrow(ConnectionError);
    await expect(failed).rejects.toThrow(/127\.0\.0\.1:1.*127\.0\.0\.1:2/s);
  });

  it.each([
    ['a negative length', Buffer.from('ffffff00', 'hex')],
    ['a length of two gigabytes', Buffer.from('7fffffff00000000', 'hex')],
    ['an HTTP response', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')],
  ])('rejects %s', async (_, answer) => {
    const cluster = clusterOf([await listenWith(answer)]);
    const error = await cluster.metadata.refresh([]).catch((reason: Error) => reason);
    expect(error).toBeInstanceOf(ConnectionError);
    expect((error as Error).cause).toBeInstanceOf(MalformedResponseError);
  });

  it('waits at most the connection timeout for a server that does not respond', async () => {
    const cluster = clusterOf([await listenWith(Buffer.alloc(0))]);
    await expect(cluster.metadata.refresh([])).rejects.toThrow(ConnectionError);
  });

  it('never reads beyond the end of a response', () => {
    const request = defineRequest({
      apiKey: 99,
      apiName: 'Test',
      versions: [0],
      write: () => undefined,
      read: (reader) => reader.array(() => reader.nullableString()),
    });
    expect(() => request.decode(Buffer.from('7fffffff', 'hex'), 0)).toThrow(MalformedResponseError);
    expect(() => request.decode(Buffer.from('000000017fff41', 'hex'), 0)).toThrow(
      MalformedResponseError,
    );
  });
});
