import { ConnectionError } from '../../../port/errors.js';
import { sleep, type VirtualRuntime } from '../../../runtime/index.js';
import type {
  ApiRequest,
  ClusterFeatures,
  Metadata,
  Target,
  TransactionFlow,
} from '../../../wire/index.js';
import { Reader } from '../../../wire/requests/reader.js';
import { Writer } from '../../../wire/requests/writer.js';
import { ScriptedCluster, type AskedPartition } from '../scripted-cluster.spec-support.js';
import { SequencedLog } from '../sequenced-log.spec-support.js';
import type { SenderCluster } from '../sender-options.js';
import { CoordinatorModel } from './coordinator-model.spec-support.js';

/** What becomes of one request to a coordinator, or to a leader. */
export type Fate =
  | { readonly kind: 'answered'; readonly takesMs?: number }
  | { readonly kind: 'request-lost' }
  | { readonly kind: 'answer-lost' }
  | { readonly kind: 'late'; readonly arrivesAfterMs: number }
  /** Refused without an effect. */
  | { readonly kind: 'code'; readonly code: number };

export interface Asked {
  readonly name: string;
  readonly epoch: number;
}

const FIND_COORDINATOR = 10;
const PRODUCE = 0;
const INVALID_TXN_STATE = 48;
const INVALID_PRODUCER_EPOCH = 47;

/** Leaders and coordinators that know transactions as Kafka does, behind a network that does as it is told. */
export class TransactionalCluster implements SenderCluster {
  readonly coordinator: CoordinatorModel;
  readonly asked: Asked[] = [];
  readonly #inner: ScriptedCluster;
  readonly #logs = new Map<string, SequencedLog>();

  /** By the order in which requests leave; `name` as in the protocol. */
  fateOf: (name: string, attempt: number) => Fate = () => ({ kind: 'answered' });

  constructor(flow: TransactionFlow, topics?: Readonly<Record<string, readonly number[]>>) {
    this.coordinator = new CoordinatorModel(flow);
    this.#inner = new ScriptedCluster(topics);
    if (flow === 'implied') this.upgrade();
    this.#inner.script = () => {
      const fate = this.#next('Produce', -1);
      const fails = new ConnectionError('cut');
      const on = (asked: AskedPartition) => this.#append(asked);
      switch (fate.kind) {
        case 'answered':
          return { on, takesMs: fate.takesMs };
        case 'answer-lost':
          return { on, fails };
        case 'late':
          return { on, fails, arrivesAfterMs: fate.arrivesAfterMs };
        case 'request-lost':
          return { on: () => ({ writes: false }), fails };
        case 'code':
          return { on: () => ({ code: fate.code, writes: false }) };
      }
    };
  }

  get runtime(): VirtualRuntime {
    return this.#inner.runtime;
  }

  get metadata(): Metadata {
    return this.#inner.metadata;
  }

  /** As an operator does it, between two transactions. */
  upgrade(): void {
    this.coordinator.flow = 'implied';
    this.features.learn({ epoch: 1, levels: new Map([['transaction.version', 2]]) });
  }

  get features(): ClusterFeatures {
    return this.#inner.features;
  }

  /** The names of the requests, with the epoch that those of a producer carry. */
  get story(): readonly string[] {
    return this.asked.map(({ name, epoch }) => (epoch < 0 ? name : `${name} e${epoch}`));
  }

  closeLane(lane: string): void {
    this.#inner.closeLane(lane);
  }

  async request<T>(
    target: Target,
    lane: string,
    request: ApiRequest<T>,
    options: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {},
  ): Promise<T> {
    if (request.apiKey === PRODUCE) return this.#inner.request(target, lane, request, options);
    const version = request.versions.at(-1) as number;
    const body = await request.encode(version);
    const answer = await this.#exchange(request, body);
    options.signal?.throwIfAborted();
    return request.decode(answer, version);
  }

  async #exchange({ apiKey, apiName }: ApiRequest<unknown>, body: Buffer): Promise<Buffer> {
    if (apiKey === FIND_COORDINATOR)
      return new Writer()
        .int32(0)
        .int16(0)
        .nullableString(null)
        .int32(7)
        .string('node')
        .int32(1)
        .toBuffer();
    const fate = this.#next(apiName, this.coordinator.epochIn(apiKey, new Reader(body)));
    const effect = (): Buffer => this.coordinator.handle(apiKey, new Reader(body));
    switch (fate.kind) {
      case 'answered': {
        const answer = effect();
        if (fate.takesMs !== undefined) await sleep(this.runtime, fate.takesMs);
        return answer;
      }
      case 'answer-lost':
        effect();
        throw new ConnectionError('cut');
      case 'late':
        this.runtime.setTimer(() => void effect(), fate.arrivesAfterMs);
        throw new ConnectionError('cut');
      case 'request-lost':
        throw new ConnectionError('cut');
      case 'code':
        return this.coordinator.refusal(apiKey, new Reader(body), fate.code);
    }
  }

  #next(name: string, epoch: number): Fate {
    this.asked.push({ name, epoch });
    return this.fateOf(name, this.asked.length);
  }

  /** As brokers do since Kafka 3.6: nothing is written outside of the transaction that is open. */
  #append(asked: AskedPartition) {
    const { topic, partition, stamp, records } = asked;
    const name = `${topic}/${partition}`;
    const log = this.#logs.get(name) ?? new SequencedLog();
    this.#logs.set(name, log);
    if (stamp.producerEpoch !== this.coordinator.epoch)
      return { code: INVALID_PRODUCER_EPOCH, writes: false };
    if (!this.coordinator.takes(name)) return { code: INVALID_TXN_STATE, writes: false };
    const step = log.append(asked);
    if (step.writes)
      this.coordinator.wrote(
        name,
        records.map(({ value }) => String(value)),
      );
    return step;
  }
}
