import { ConnectionError } from '../../../port/errors.js';
import { sleep, type VirtualRuntime } from '../../../runtime/index.js';
import type {
  ApiRequest,
  ClusterFeatures,
  Metadata,
  Target,
  TransactionProtocol,
  ClusterClient,
} from '../../../wire/index.js';
import { Reader } from '../../../wire/requests/reader.js';
import { Writer } from '../../../wire/requests/writer.js';
import {
  ScriptedProduceCluster,
  type ReceivedPartition,
} from '../scripted-produce-cluster.spec-support.js';
import { SequencedLog } from '../sequenced-log.spec-support.js';
import { CoordinatorModel } from './coordinator-model.spec-support.js';

/** The scripted result of one request to a coordinator or a leader. */
export type ScriptedResult =
  | { readonly kind: 'answered'; readonly takesMs?: number }
  | { readonly kind: 'request-lost' }
  | { readonly kind: 'response-lost' }
  | { readonly kind: 'late'; readonly arrivesAfterMs: number }
  /** The broker refuses the request, so it has no effect. */
  | { readonly kind: 'code'; readonly code: number };

export interface ReceivedRequest {
  readonly name: string;
  readonly epoch: number;
}

const FIND_COORDINATOR = 10;
const PRODUCE = 0;
const INVALID_TXN_STATE = 48;
const INVALID_PRODUCER_EPOCH = 47;

/**
 * Leaders and coordinators with Kafka's transaction rules, behind a network that follows a script.
 */
export class TransactionalCluster implements ClusterClient {
  readonly coordinator: CoordinatorModel;
  readonly received: ReceivedRequest[] = [];
  readonly #inner: ScriptedProduceCluster;
  readonly #logs = new Map<string, SequencedLog>();

  /**
   * Scripts the requests in the order in which they are sent; `name` is the API name of the
   * protocol.
   */
  resultOf: (name: string, attempt: number) => ScriptedResult = () => ({ kind: 'answered' });

  constructor(protocol: TransactionProtocol, topics?: Readonly<Record<string, readonly number[]>>) {
    this.coordinator = new CoordinatorModel(protocol);
    this.#inner = new ScriptedProduceCluster(topics);
    if (protocol === 'v2') this.upgrade();
    this.#inner.script = () => {
      const result = this.#next('Produce', -1);
      const fails = new ConnectionError('cut');
      const on = (asked: ReceivedPartition) => this.#append(asked);
      switch (result.kind) {
        case 'answered':
          return { on, takesMs: result.takesMs };
        case 'response-lost':
          return { on, fails };
        case 'late':
          return { on, fails, arrivesAfterMs: result.arrivesAfterMs };
        case 'request-lost':
          return { on: () => ({ writes: false }), fails };
        case 'code':
          return { on: () => ({ code: result.code, writes: false }) };
      }
    };
  }

  get runtime(): VirtualRuntime {
    return this.#inner.runtime;
  }

  get metadata(): Metadata {
    return this.#inner.metadata;
  }

  /** Finalizes transaction.version 2, as an operator does between two transactions. */
  upgrade(): void {
    this.coordinator.protocol = 'v2';
    this.features.update({ epoch: 1, levels: new Map([['transaction.version', 2]]) });
  }

  get requestTimeoutMs(): number {
    return this.#inner.requestTimeoutMs;
  }

  get features(): ClusterFeatures {
    return this.#inner.features;
  }

  /** The names of the received requests, with the producer epoch if a request has one. */
  get requestLog(): readonly string[] {
    return this.received.map(({ name, epoch }) => (epoch < 0 ? name : `${name} e${epoch}`));
  }

  closeChannel(channel: string): void {
    this.#inner.closeChannel(channel);
  }

  async request<T>(
    target: Target,
    channel: string,
    request: ApiRequest<T>,
    options: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {},
  ): Promise<T> {
    if (request.apiKey === PRODUCE) return this.#inner.request(target, channel, request, options);
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
    const result = this.#next(apiName, this.coordinator.epochIn(apiKey, new Reader(body)));
    const effect = (): Buffer => this.coordinator.handle(apiKey, new Reader(body));
    switch (result.kind) {
      case 'answered': {
        const answer = effect();
        if (result.takesMs !== undefined) await sleep(this.runtime, result.takesMs);
        return answer;
      }
      case 'response-lost':
        effect();
        throw new ConnectionError('cut');
      case 'late':
        this.runtime.setTimer(() => void effect(), result.arrivesAfterMs);
        throw new ConnectionError('cut');
      case 'request-lost':
        throw new ConnectionError('cut');
      case 'code':
        return this.coordinator.refusal(apiKey, new Reader(body), result.code);
    }
  }

  #next(name: string, epoch: number): ScriptedResult {
    this.received.push({ name, epoch });
    return this.resultOf(name, this.received.length);
  }

  /** Writes only into the open transaction, as brokers do since Kafka 3.6. */
  #append(asked: ReceivedPartition) {
    const { topic, partition, stamp, records } = asked;
    const name = `${topic}/${partition}`;
    const log = this.#logs.get(name) ?? new SequencedLog();
    this.#logs.set(name, log);
    if (stamp.producerEpoch !== this.coordinator.epoch)
      return { code: INVALID_PRODUCER_EPOCH, writes: false };
    if (!this.coordinator.acceptsWrite(name)) return { code: INVALID_TXN_STATE, writes: false };
    const step = log.append(asked);
    if (step.writes)
      this.coordinator.wrote(
        name,
        records.map(({ value }) => String(value)),
      );
    return step;
  }
}
