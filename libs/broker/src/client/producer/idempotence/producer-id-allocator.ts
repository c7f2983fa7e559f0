import { BrokerError, ClosedError, RefusedError } from '../../../port/errors.js';
import { Backoff, type Timer } from '../../../runtime/index.js';
import {
  CONTROL_LANE,
  errorOfCode,
  producerIdRequest,
  type ProducerIdAnswer,
} from '../../../wire/index.js';
import { idempotenceAdvice } from './idempotence-advice.js';
import type { PartitionQueue } from '../batching/partition-queue.js';
import type { ProducerIdentity } from './partition-sequence.js';
import { RETRY_BACKOFF, type Desk, type OnServed, type SenderContext } from '../sender-options.js';

/** Any broker can answer: one that is frozen is not waited for longer. */
const LONGEST_QUESTION_MS = 5_000;

/**
 * Where partitions get the producer id under which they count. It is asked for when the first
 * batch wants to leave, and again when a partition has done with the one there is.
 */
export class IdentityDesk implements Desk {
  readonly #waiting = new Set<PartitionQueue>();
  readonly #backoff: Backoff;
  #current: ProducerIdentity | undefined;
  #isAsking = false;
  #retry: Timer | undefined;
  #isStopped = false;

  constructor(
    private readonly context: SenderContext,
    private readonly onServed: OnServed,
  ) {
    this.#backoff = new Backoff(context.cluster.runtime, RETRY_BACKOFF);
  }

  admit(queue: PartitionQueue): boolean {
    const { sequence } = queue;
    if (sequence === undefined || sequence.isBegun) return true;
    if (this.#current && sequence.accepts(this.#current)) {
      sequence.begin(this.#current);
      return true;
    }
    queue.state = 'unidentified';
    this.#waiting.add(queue);
    if (!this.#isAsking) void this.#ask();
    return false;
  }

  stop(): void {
    this.#isStopped = true;
    this.#retry?.cancel();
    this.#waiting.clear();
  }

  async #ask(): Promise<void> {
    this.#isAsking = true;
    const answer = await this.#question();
    if (this.#isStopped) return;
    if (answer instanceof ClosedError) return this.context.onClusterClosed(answer);
    if (answer instanceof Error) return this.#troubled(answer);
    this.#isAsking = false;
    this.#backoff.reset();
    this.#current = answer;
    this.#serve();
  }

  async #question(): Promise<ProducerIdentity | Error> {
    const { cluster, options } = this.context;
    const timeoutMs = Math.min(options.requestTimeoutMs, LONGEST_QUESTION_MS);
    try {
      const request = producerIdRequest();
      return identityOf(await cluster.request('any', CONTROL_LANE, request, { timeoutMs }));
    } catch (error) {
      return error as Error;
    }
  }

  #troubled(error: Error): void {
    const isFinal = !(error instanceof BrokerError) || !error.retriable;
    for (const queue of this.#waiting) {
      if (isFinal) queue.failAll(error);
      const head = queue.prune();
      if (head !== undefined) {
        head.trouble = error;
        continue;
      }
      queue.state = 'empty';
      this.#waiting.delete(queue);
    }
    this.#isAsking = this.#waiting.size > 0;
    if (this.#isAsking)
      this.#retry = this.context.cluster.runtime.setTimer(
        () => void this.#ask(),
        this.#backoff.next(),
      );
    this.onServed([]);
  }

  #serve(): void {
    const queues = [...this.#waiting];
    this.#waiting.clear();
    this.onServed(queues);
  }
}

function identityOf({ code, producerId, producerEpoch }: ProducerIdAnswer) {
  const doing = 'Asking for a producer id, by which brokers know a batch that is sent again';
  if (code !== 0) return errorOfCode(code, doing, idempotenceAdvice(code));
  if (producerId >= 0n) return { producerId, producerEpoch };
  return new RefusedError(`${doing}: the cluster has none to give yet.`, true);
}
