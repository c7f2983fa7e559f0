import {
  ClusterFeatures,
  Metadata,
  type ApiRequest,
  type ClusterClient,
  type Target,
  type TopicMetadata,
} from '../../wire/index.js';
import { Reader } from '../../wire/requests/reader.js';
import { Writer } from '../../wire/requests/writer.js';
import { ClosedError, RequestTimeoutError } from '../../port/errors.js';
import type { BrokerRecord, TopicPartition } from '../../port/record.js';
import { BatchHeader, RecordBatchReader, type ProducerStamp } from '../../records/index.js';
import { Deferred, VirtualRuntime, sleep, within } from '../../runtime/index.js';

export interface ReceivedPartition extends TopicPartition {
  readonly stamp: ProducerStamp;
  readonly records: readonly BrokerRecord[];
  readonly batchBytes: number;
}

/** A produce request as the broker received it. */
export interface ReceivedProduce {
  readonly node: number;
  readonly channel: string;
  readonly partitions: readonly ReceivedPartition[];
}

export interface PartitionStep {
  readonly code?: number;
  /** True if the records are written. Default: true if the code is 0. */
  readonly writes?: boolean;
  readonly baseOffset?: number;
  readonly appendTime?: number;
  readonly recordErrors?: readonly (readonly [index: number, message: string | null])[];
  readonly isLeftOut?: boolean;
}

export interface ProduceStep {
  readonly takesMs?: number;
  /** Delays the response until this promise resolves. */
  readonly until?: Promise<void>;
  /**
   * Fails the request with this error instead of a response. The records are written if `writes` of
   * the partition says so.
   */
  readonly fails?: Error;
  /**
   * The time after which the broker receives a request that `fails`. The producer no longer waits
   * for it then.
   */
  readonly arrivesAfterMs?: number;
  readonly on?: (partition: ReceivedPartition) => PartitionStep;
}

export interface IdentityStep {
  readonly code?: number;
  readonly producerId?: bigint;
  readonly takesMs?: number;
  readonly fails?: Error;
}

const INIT_PRODUCER_ID = 22;
const FLEXIBLE_FROM = 9;

/**
 * An in-memory cluster with one or more leaders, which answers produce requests according to a
 * script.
 */
export class ScriptedProduceCluster implements ClusterClient {
  readonly runtime = new VirtualRuntime();
  readonly metadata: Metadata;
  readonly features = new ClusterFeatures();
  readonly requestTimeoutMs = 30_000;
  readonly produceRequests: ReceivedProduce[] = [];
  readonly closedChannels: string[] = [];
  /** Delays requests before they are sent, as if a connection was being opened. */
  connecting: Promise<void> | undefined;
  metadataAsked = 0;
  identitiesAsked = 0;
  metadataGate: Promise<void> | undefined;
  metadataFailure: Error | undefined;
  maxInFlight = 0;
  #inFlight = 0;
  #isClosed = false;
  readonly #topics = new Map<string, { code: number; leaders: number[] }>();
  readonly #logs = new Map<string, string[]>();
  readonly #cut = new Deferred<never>();

  /** Scripts the produce requests. Default: every record is written. */
  script: (asked: ReceivedProduce, attempt: number) => ProduceStep = () => ({});

  /** Scripts the requests for a producer id. Default: each request gets the next id. */
  identityScript: (attempt: number) => IdentityStep = () => ({});

  constructor(topics: Readonly<Record<string, readonly number[]>> = { orders: [0, 0, 0] }) {
    for (const [name, leaders] of Object.entries(topics)) this.create(name, leaders);
    this.metadata = new Metadata(this.runtime, async (names) => {
      this.metadataAsked++;
      await this.metadataGate;
      if (this.metadataFailure) throw this.metadataFailure;
      const nodes = new Set([...this.#topics.values()].flatMap(({ leaders }) => leaders));
      return {
        brokers: [...nodes].map((id) => ({ id, host: 'node', port: id, rack: null })),
        clusterId: 'scripted',
        controllerId: 0,
        topics: names.map((name) => this.#describe(name)),
      };
    });
  }

  /**
   * Creates a topic. `leaders` has the node id of the leader of each partition; -1 for no leader.
   */
  create(name: string, leaders: readonly number[]): void {
    this.#topics.set(name, { code: 0, leaders: [...leaders] });
  }

  breakTopic(name: string, code: number): void {
    this.#topics.set(name, { code, leaders: [] });
  }

  /** Returns the values in the log of a partition, in order. */
  log(topic: string, partition: number): readonly string[] {
    return this.#logs.get(`${topic}/${partition}`) ?? [];
  }

  async request<T>(
    target: Target,
    channel: string,
    request: ApiRequest<T>,
    { timeoutMs = 30_000 }: { readonly timeoutMs?: number } = {},
  ): Promise<T> {
    if (this.#isClosed) throw closed();
    const exchange =
      request.apiKey === INIT_PRODUCER_ID
        ? this.#identify(request)
        : this.#exchange(Number(target), channel, request);
    const late = () => new RequestTimeoutError(`No answer within ${timeoutMs} ms.`);
    return Promise.race([within(this.runtime, timeoutMs, exchange, late), this.#cut.promise]);
  }

  closeChannel(channel: string): void {
    this.closedChannels.push(channel);
  }

  /** Closes the cluster while the producer is open. */
  close(): void {
    this.#isClosed = true;
    this.#cut.reject(closed());
  }

  async #identify<T>(request: ApiRequest<T>): Promise<T> {
    const attempt = ++this.identitiesAsked;
    const step = this.identityScript(attempt);
    await request.encode(4);
    if (step.takesMs !== undefined) await sleep(this.runtime, step.takesMs);
    if (step.fails) throw step.fails;
    const { code = 0, producerId = BigInt(attempt) } = step;
    const answer = new Writer().int32(0).int16(code).int64(producerId).int16(0).noTags();
    return request.decode(answer.toBuffer(), 4);
  }

  async #exchange<T>(node: number, channel: string, request: ApiRequest<T>): Promise<T> {
    this.maxInFlight = Math.max(this.maxInFlight, ++this.#inFlight);
    try {
      await this.connecting;
      const version = request.versions.at(-1) as number;
      const asked = { node, channel, partitions: decode(await request.encode(version), version) };
      this.produceRequests.push(asked);
      const step = this.script(asked, this.produceRequests.length);
      const { arrivesAfterMs } = step;
      const arrive = () => void this.#carryOut(asked, step, version);
      if (arrivesAfterMs !== undefined) this.runtime.setTimer(arrive, arrivesAfterMs);
      const answer =
        arrivesAfterMs === undefined ? this.#carryOut(asked, step, version) : Buffer.alloc(0);
      if (step.takesMs !== undefined) await sleep(this.runtime, step.takesMs);
      await step.until;
      if (step.fails) throw step.fails;
      return await request.decode(answer, version);
    } finally {
      this.#inFlight--;
    }
  }

  #carryOut(
    asked: ReceivedProduce,
    { on = () => ({}) }: ProduceStep,
    version = FLEXIBLE_FROM - 1,
  ): Buffer {
    const answers = asked.partitions.flatMap((partition) => {
      const step = on(partition);
      const baseOffset = this.#append(partition, step);
      return step.isLeftOut ? [] : [{ ...partition, step, baseOffset }];
    });
    return (version >= FLEXIBLE_FROM ? compactAnswer(answers) : plainAnswer(answers)).toBuffer();
  }

  #append({ topic, partition, records }: ReceivedPartition, step: PartitionStep): number {
    if (!(step.writes ?? (step.code ?? 0) === 0)) return -1;
    const key = `${topic}/${partition}`;
    const log = this.#logs.get(key) ?? [];
    this.#logs.set(key, log);
    const baseOffset = log.length;
    log.push(...records.map(({ value }) => String(value)));
    return baseOffset;
  }

  #describe(name: string): TopicMetadata {
    const topic = this.#topics.get(name) ?? { code: 3, leaders: [] };
    const partitions = topic.leaders.map((leader, partition) => ({
      code: leader < 0 ? 5 : 0,
      partition,
      leader,
      leaderEpoch: 1,
      replicas: [leader],
      inSync: [leader],
    }));
    return { code: topic.code, name, id: null, internal: false, partitions };
  }
}

function closed(): ClosedError {
  return new ClosedError('The driver was closed.');
}

interface Answered extends TopicPartition {
  readonly step: PartitionStep;
  readonly baseOffset: number;
}

function plainAnswer(answers: readonly Answered[]): Writer {
  const writer = new Writer();
  writer.array(answers, (answer) => {
    const { recordErrors = [] } = answer.step;
    writer.string(answer.topic).array([0], () => {
      writeOutcome(writer, answer).array(recordErrors, ([index, message]) => {
        writer.int32(index).nullableString(message);
      });
      writer.nullableString(null);
    });
  });
  return writer.int32(0);
}

function compactAnswer(answers: readonly Answered[]): Writer {
  const writer = new Writer();
  writer.compactArray(answers, (answer) => {
    const { recordErrors = [] } = answer.step;
    writer.compactString(answer.topic);
    writer.compactArray([0], () => {
      writeOutcome(writer, answer).compactArray(recordErrors, ([index, message]) => {
        writer.int32(index).compactNullableString(message).noTags();
      });
      writer.compactNullableString(null).noTags();
    });
    writer.noTags();
  });
  return writer.int32(0).noTags();
}

function writeOutcome(writer: Writer, { partition, step, baseOffset }: Answered): Writer {
  const { code = 0, appendTime = -1 } = step;
  writer.int32(partition).int16(code);
  return writer
    .int64(step.baseOffset ?? baseOffset)
    .int64(appendTime)
    .int64(0);
}

function decode(body: Buffer, version: number): readonly ReceivedPartition[] {
  const reader = new Reader(body);
  if (version >= FLEXIBLE_FROM) return decodeCompact(reader);
  reader.nullableString();
  reader.int16();
  reader.int32();
  return reader
    .array(() => {
      const topic = reader.string();
      return reader.array(() => {
        const partition = reader.int32();
        return askedOf(topic, partition, reader.nullableBytes());
      });
    })
    .flat();
}

function decodeCompact(reader: Reader): readonly ReceivedPartition[] {
  reader.compactNullableString();
  reader.int16();
  reader.int32();
  return reader
    .compactArray(() => {
      const topic = reader.compactString();
      const partitions = reader.compactArray(() => {
        const partition = reader.int32();
        const asked = askedOf(topic, partition, reader.compactNullableBytes());
        reader.skipTags();
        return asked;
      });
      reader.skipTags();
      return partitions;
    })
    .flat();
}

function askedOf(topic: string, partition: number, bytes: Buffer | null): ReceivedPartition {
  const batch = bytes ?? Buffer.alloc(0);
  const { producerId, producerEpoch, baseSequence } = new BatchHeader(batch);
  const stamp = { producerId, producerEpoch, baseSequence };
  return { topic, partition, records: recordsIn(batch), batchBytes: batch.length, stamp };
}

function recordsIn(batch: Buffer): readonly BrokerRecord[] {
  const reader = new RecordBatchReader(batch, { topic: '', partition: 0, fetchOffset: 0 });
  return reader.next(Number.MAX_SAFE_INTEGER);
}
