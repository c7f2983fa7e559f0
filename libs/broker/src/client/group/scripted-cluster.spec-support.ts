import { decodeSubscription, type Subscription } from '../../assignment/index.js';
import { ConnectionError, type BrokerError } from '../../port/errors.js';
import type { OffsetCommit } from '../../port/consumer.js';
import { abortable, Deferred, type VirtualRuntime } from '../../runtime/index.js';
import {
  ClusterFeatures,
  Metadata,
  type ApiRequest,
  type ClusterClient,
} from '../../wire/index.js';
import type { MetadataResponse } from '../../wire/requests/metadata-request.js';
import { Reader } from '../../wire/requests/reader.js';

export interface SentRequest {
  readonly api: string;
  readonly channel: string;
  readonly at: number;
  readonly memberId: string;
  readonly generation: number;
  readonly instanceId: string | null;
  /** Subscriptions in the JoinGroup request, by assignor. */
  readonly offers: ReadonlyMap<string, Subscription>;
  readonly commits: readonly OffsetCommit[];
  /** The owned partitions in a heartbeat of the consumer protocol, as `topicId/partition`. */
  readonly owned: readonly string[] | null;
  readonly shares: readonly { readonly memberId: string; readonly assignment: Buffer }[];
}

/**
 * A prepared response, an error that is thrown instead of a response, or a function that returns
 * one of them.
 */
type Prepared = object | Error | ((sent: SentRequest) => unknown);

interface Script {
  readonly once: Prepared[];
  always: Prepared | undefined;
}

/**
 * A cluster with prepared responses, which records its requests. A request without a prepared
 * response fails, and afterwards `verify` fails the test.
 */
export class ScriptedCluster implements ClusterClient {
  readonly requestTimeoutMs = 30_000;
  readonly metadata: Metadata;
  readonly features = new ClusterFeatures();
  readonly sent: SentRequest[] = [];
  readonly closedChannels: string[] = [];
  readonly topics = new Map<string, number>([['orders', 2]]);
  /** Topic ids by name; the default is the name. */
  readonly topicIds = new Map<string, string>();
  metadataError: Error | undefined;
  readonly #scripts = new Map<string, Script>();
  readonly #unexpected: string[] = [];
  readonly #waiting = new Set<{ readonly channel: string; readonly closed: Deferred<never> }>();

  constructor(readonly runtime: VirtualRuntime) {
    this.metadata = new Metadata(runtime, async (topics) => {
      if (this.metadataError) throw this.metadataError;
      return this.#describe(topics);
    });
  }

  /** Prepares the next responses to this request. They are used before those of `always`. */
  once(api: string, ...answers: Prepared[]): this {
    this.#script(api).once.push(...answers);
    return this;
  }

  always(api: string, answer: Prepared | undefined): this {
    this.#script(api).always = answer;
    return this;
  }

  requests(api: string): readonly SentRequest[] {
    return this.sent.filter((request) => request.api === api);
  }

  verify(): void {
    const leftOver = [...this.#scripts].flatMap(([api, { once }]) => once.map(() => api));
    expect({ unexpected: this.#unexpected, leftOver }).toEqual({ unexpected: [], leftOver: [] });
  }

  async request<T>(
    _target: unknown,
    channel: string,
    request: ApiRequest<T>,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<T> {
    const version = request.versions.at(-1) ?? 0;
    const body = await request.encode(version);
    const sent = {
      ...parse(request.apiName, body, version),
      api: request.apiName,
      channel,
      at: this.runtime.monotonic(),
    };
    this.sent.push(sent);
    const pending = { channel, closed: new Deferred<never>() };
    this.#waiting.add(pending);
    const answer = Promise.race([this.#answer(sent), pending.closed.promise]);
    answer.catch(() => undefined).finally(() => this.#waiting.delete(pending));
    return abortable(answer as Promise<T>, signal);
  }

  closeChannel(channel: string, reason: BrokerError = new ConnectionError('closed')): void {
    this.closedChannels.push(channel);
    for (const waiting of this.#waiting)
      if (waiting.channel === channel) waiting.closed.reject(reason);
  }

  async #answer(sent: SentRequest): Promise<unknown> {
    const script = this.#script(sent.api);
    const prepared = script.once.shift() ?? script.always;
    if (prepared === undefined) {
      this.#unexpected.push(`${sent.api} at ${sent.at} ms from "${sent.memberId}"`);
      throw new ConnectionError(`Nothing was prepared for ${sent.api}.`);
    }
    if (prepared instanceof Error) throw prepared;
    const answer = typeof prepared === 'function' ? await prepared(sent) : prepared;
    if (answer instanceof Error) throw answer;
    return answer;
  }

  #script(api: string): Script {
    const script = this.#scripts.get(api) ?? { once: [], always: undefined };
    this.#scripts.set(api, script);
    return script;
  }

  #describe(topics: readonly string[]): MetadataResponse {
    const described = topics.map((name) => {
      const count = this.topics.get(name) ?? 0;
      const partitions = Array.from({ length: count }, (_, partition) => ({
        code: 0,
        partition,
        leader: 1,
        leaderEpoch: 0,
        replicas: [1],
        inSync: [1],
      }));
      return {
        code: count === 0 ? 3 : 0,
        name,
        id: this.topicIds.get(name) ?? name,
        internal: false,
        partitions,
      };
    });
    return { brokers: [], clusterId: 'scripted', controllerId: 1, topics: described };
  }
}

const nothing = {
  memberId: '',
  generation: -1,
  instanceId: null,
  offers: new Map<string, Subscription>(),
  commits: [],
  owned: null,
  shares: [],
};

function parse(
  api: string,
  body: Buffer,
  version: number,
): Omit<SentRequest, 'api' | 'channel' | 'at'> {
  const reader = new Reader(body);
  const shares = () =>
    reader.array(() => ({
      memberId: reader.string(),
      assignment: reader.nullableBytes() ?? Buffer.alloc(0),
    }));
  switch (api) {
    case 'ConsumerGroupHeartbeat':
      return { ...nothing, ...readHeartbeat(reader) };
    case version < 9 ? '' : 'OffsetFetch':
      return { ...nothing, ...readLookup(reader) };
    case 'JoinGroup':
      return { ...nothing, ...readJoin(reader) };
    case 'LeaveGroup':
      reader.string();
      return { ...nothing, memberId: reader.array(() => reader.string())[0] ?? '' };
    case version < 9 ? '' : 'OffsetCommit':
      return { ...nothing, ...readCompactCommit(reader) };
    case 'SyncGroup':
    case 'Heartbeat':
    case 'OffsetCommit': {
      reader.string();
      const generation = reader.int32();
      const memberId = reader.string();
      const instanceId = reader.nullableString();
      const identity = { ...nothing, generation, memberId, instanceId };
      if (api === 'SyncGroup') return { ...identity, shares: shares() };
      return api === 'Heartbeat' ? identity : { ...identity, commits: readCommits(reader) };
    }
    default:
      return nothing;
  }
}

function readHeartbeat(
  reader: Reader,
): Pick<SentRequest, 'memberId' | 'generation' | 'instanceId' | 'owned'> {
  reader.compactString();
  const [memberId, generation] = [reader.compactString(), reader.int32()];
  const instanceId = reader.compactNullableString();
  reader.compactNullableString();
  reader.int32();
  reader.compactArray(() => reader.compactString());
  reader.compactNullableString();
  reader.compactNullableString();
  const owned = reader.compactArray(() => {
    const topicId = reader.uuid();
    const partitions = reader.compactArray(() => reader.int32());
    reader.skipTags();
    return partitions.map((partition) => `${topicId}/${partition}`);
  });
  return { memberId, generation, instanceId, owned: owned.flat() };
}

/** Reads a request of version 9, which contains a list of groups. */
function readLookup(reader: Reader): Pick<SentRequest, 'memberId' | 'generation'> {
  reader.unsignedVarint();
  reader.compactString();
  return { memberId: reader.compactString(), generation: reader.int32() };
}

/** Reads a request of version 9, which is compact. */
function readCompactCommit(
  reader: Reader,
): Pick<SentRequest, 'memberId' | 'generation' | 'instanceId' | 'commits'> {
  reader.compactString();
  const [generation, memberId] = [reader.int32(), reader.compactString()];
  const instanceId = reader.compactNullableString();
  const commits = reader.compactArray(() => {
    const topic = reader.compactString();
    const those = reader.compactArray(() => {
      const commit = {
        topic,
        partition: reader.int32(),
        offset: reader.int64(),
        leaderEpoch: reader.int32(),
        metadata: reader.compactNullableString(),
      };
      reader.skipTags();
      return commit;
    });
    reader.skipTags();
    return those;
  });
  return { generation, memberId, instanceId, commits: commits.flat() };
}

/** Reads a request of version 9, which is compact. */
function readJoin(reader: Reader): Pick<SentRequest, 'memberId' | 'instanceId' | 'offers'> {
  reader.compactString();
  reader.raw(8);
  const memberId = reader.compactString();
  const instanceId = reader.compactNullableString();
  reader.compactString();
  const offers = reader.compactArray(() => {
    const name = reader.compactString();
    const metadata = reader.compactNullableBytes() ?? Buffer.alloc(0);
    reader.skipTags();
    return [name, decodeSubscription(metadata)] as const;
  });
  return { memberId, instanceId, offers: new Map(offers) };
}

function readCommits(reader: Reader): readonly OffsetCommit[] {
  return reader
    .array(() => {
      const topic = reader.string();
      return reader.array(() => ({
        topic,
        partition: reader.int32(),
        offset: reader.int64(),
        leaderEpoch: reader.int32(),
        metadata: reader.nullableString(),
      }));
    })
    .flat();
}
