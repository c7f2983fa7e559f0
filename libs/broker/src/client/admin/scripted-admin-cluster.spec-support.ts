import { ClosedError, type BrokerError } from '../../port/errors.js';
import { abortable, Deferred, type VirtualRuntime } from '../../runtime/index.js';
import {
  ClusterFeatures,
  Metadata,
  type ApiRequest,
  type Target,
  type ClusterClient,
} from '../../wire/index.js';

interface Sent {
  readonly api: string;
  readonly target: Target;
  readonly at: number;
}

/** A prepared response, an error that is thrown instead of a response, or no response at all. */
type Prepared = object | Error | 'silence';

/**
 * A cluster of two brokers that returns prepared responses in order. The last response is repeated.
 */
export class ScriptedAdminCluster implements ClusterClient {
  readonly requestTimeoutMs = 10_000;
  readonly sent: Sent[] = [];
  readonly closedChannels: string[] = [];
  readonly metadata: Metadata;
  readonly features = new ClusterFeatures();
  /** The leader of each partition of "orders". */
  leaders = [1, 1];
  refreshes = 0;
  readonly #scripts = new Map<string, Prepared[]>();

  constructor(readonly runtime: VirtualRuntime) {
    this.metadata = new Metadata(runtime, (topics) => {
      this.refreshes++;
      return Promise.resolve({
        brokers: [1, 2].map((id) => ({ id, host: 'localhost', port: id, rack: null })),
        clusterId: 'scripted',
        controllerId: 1,
        topics: topics.map((name) => ({
          code: name === 'orders' ? 0 : 3,
          name,
          id: null,
          internal: false,
          partitions: name === 'orders' ? this.leaders.map(ledBy) : [],
        })),
      });
    });
  }

  script(api: string, ...answers: Prepared[]): this {
    this.#scripts.set(api, answers);
    return this;
  }

  requests(api: string): readonly Sent[] {
    return this.sent.filter((request) => request.api === api);
  }

  async request<T>(
    target: Target,
    _lane: string,
    { apiName: api }: ApiRequest<T>,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<T> {
    this.sent.push({ api, target, at: this.runtime.monotonic() });
    const answers = this.#scripts.get(api) ?? [];
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    if (answer === undefined) throw new Error(`Nothing was prepared for ${api}.`);
    if (answer instanceof Error) throw answer;
    const given = answer === 'silence' ? new Deferred<T>().promise : Promise.resolve(answer as T);
    return abortable(given, signal);
  }

  closeChannel(channel: string, _reason: BrokerError = new ClosedError('closed')): void {
    this.closedChannels.push(channel);
  }
}

const ledBy = (leader: number, partition: number) => ({
  code: 0,
  partition,
  leader,
  leaderEpoch: 0,
  replicas: [leader],
  inSync: [leader],
});
