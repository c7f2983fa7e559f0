import { ClosedError, type BrokerError } from '../../port/errors.js';
import { abortable, Deferred, type VirtualRuntime } from '../../runtime/index.js';
import { Metadata, type ApiRequest, type Target } from '../../wire/index.js';
import type { AdminCluster } from './admin-call.js';

interface Sent {
  readonly api: string;
  readonly target: Target;
  readonly at: number;
}

/** An answer, an error that is thrown instead, or silence. */
type Prepared = object | Error | 'silence';

/** A cluster of two brokers that gives prepared answers in their order; the last one stays. */
export class ScriptedCluster implements AdminCluster {
  readonly requestTimeoutMs = 10_000;
  readonly sent: Sent[] = [];
  readonly closedLanes: string[] = [];
  readonly metadata: Metadata;
  /** Who leads each partition of "orders". */
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

  closeLane(lane: string, _reason: BrokerError = new ClosedError('closed')): void {
    this.closedLanes.push(lane);
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
