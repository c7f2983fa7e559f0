import { BrokerError, ClosedError, RefusedError } from '../../../port/errors.js';
import { Backoff, type Timer } from '../../../runtime/index.js';
import {
  CONTROL_CHANNEL,
  errorOfCode,
  producerIdRequest,
  type ProducerIdResponse,
} from '../../../wire/index.js';
import { idempotenceAdvice } from './idempotence-advice.js';
import type { PartitionQueue } from '../batching/partition-queue.js';
import type { ProducerIdentity } from './partition-sequence.js';
import {
  RETRY_BACKOFF,
  type PartitionRegistrar,
  type OnRegistered,
  type SenderContext,
} from '../sender-context.js';

/**
 * The timeout of one request. Any broker can answer, so the producer does not wait long for a
 * broker that does not respond.
 */
const MAX_REQUEST_MS = 5_000;

/**
 * Gives partitions the producer id for their sequence numbers. An id is requested for the first
 * batch, and again when a partition has discarded the current id.
 */
export class ProducerIdAllocator implements PartitionRegistrar {
  readonly #waiting = new Set<PartitionQueue>();
  readonly #backoff: Backoff;
  #current: ProducerIdentity | undefined;
  #isRequesting = false;
  #retry: Timer | undefined;
  #isStopped = false;

  constructor(
    private readonly context: SenderContext,
    private readonly onRegistered: OnRegistered,
  ) {
    this.#backoff = new Backoff(context.cluster.runtime, RETRY_BACKOFF);
  }

  register(queue: PartitionQueue): boolean {
    const { sequence } = queue;
    if (sequence === undefined || sequence.hasStarted) return true;
    if (this.#current && sequence.accepts(this.#current)) {
      sequence.begin(this.#current);
      return true;
    }
    queue.state = 'unregistered';
    this.#waiting.add(queue);
    if (!this.#isRequesting) void this.#requestId();
    return false;
  }

  stop(): void {
    this.#isStopped = true;
    this.#retry?.cancel();
    this.#waiting.clear();
  }

  async #requestId(): Promise<void> {
    this.#isRequesting = true;
    const answer = await this.#sendRequest();
    if (this.#isStopped) return;
    if (answer instanceof ClosedError) return this.context.onClusterClosed(answer);
    if (answer instanceof Error) return this.#handleFailure(answer);
    this.#isRequesting = false;
    this.#backoff.reset();
    this.#current = answer;
    this.#registerWaiting();
  }

  async #sendRequest(): Promise<ProducerIdentity | Error> {
    const { cluster, options } = this.context;
    const timeoutMs = Math.min(options.requestTimeoutMs, MAX_REQUEST_MS);
    try {
      const request = producerIdRequest();
      return identityOf(await cluster.request('any', CONTROL_CHANNEL, request, { timeoutMs }));
    } catch (error) {
      return error as Error;
    }
  }

  #handleFailure(error: Error): void {
    const isFinal = !(error instanceof BrokerError) || !error.retriable;
    for (const queue of this.#waiting) {
      if (isFinal) queue.failAll(error);
      const head = queue.prune();
      if (head !== undefined) {
        head.lastError = error;
        continue;
      }
      queue.state = 'empty';
      this.#waiting.delete(queue);
    }
    this.#isRequesting = this.#waiting.size > 0;
    if (this.#isRequesting)
      this.#retry = this.context.cluster.runtime.setTimer(
        () => void this.#requestId(),
        this.#backoff.next(),
      );
    this.onRegistered([]);
  }

  #registerWaiting(): void {
    const queues = [...this.#waiting];
    this.#waiting.clear();
    this.onRegistered(queues);
  }
}

function identityOf({ code, producerId, producerEpoch }: ProducerIdResponse) {
  const doing = 'Asking for a producer id, by which brokers know a batch that is sent again';
  if (code !== 0) return errorOfCode(code, doing, idempotenceAdvice(code));
  if (producerId >= 0n) return { producerId, producerEpoch };
  return new RefusedError(`${doing}: the cluster has no producer id to give yet.`, true);
}
