import { ClosedError, RequestTimeoutError } from '../../../port/errors.js';
import type { ResolvedProducerOptions } from '../../../port/validate-producer-options.js';
import type { TopicPartition } from '../../../port/record.js';
import { Backoff, type Runtime, sleep, type Timer } from '../../../runtime/index.js';
import { ConnectionRefusedError } from '../../broker/network.js';
import { isRefusal, Refusal, type RefusalName } from '../../broker/faults/refusal.js';
import type { ProducerIdentity } from '../../broker/transactions/transactions.js';
import { isRetriable } from '../refusal-errors.js';
import type { BatchSink } from './batch-sink.js';
import type { BufferBudget } from './buffer-budget.js';
import { type BatchEntry, PendingBatch } from './pending-batch.js';
import type { SendCall } from './send-call.js';

export interface QueueContext {
  readonly sink: BatchSink;
  readonly budget: BufferBudget;
  readonly runtime: Runtime;
  readonly options: ResolvedProducerOptions;
  /** Aborts when the producer is closed before its batches are completed. */
  readonly signal: AbortSignal;
  /** Invalidates the metadata of the topic. */
  onTopicMissing(): void;
}

const SEQUENCES = 2 ** 31;

/** The refusals after which no record of the batch can be in the log. */
const NOT_WRITTEN: ReadonlySet<RefusalName> = new Set<RefusalName>([
  'LEADER_NOT_AVAILABLE',
  'NOT_ENOUGH_REPLICAS',
  'MESSAGE_TOO_LARGE',
  'CORRUPT_MESSAGE',
  'INVALID_TIMESTAMP',
  'INVALID_TOPIC',
  'TOPIC_AUTHORIZATION_FAILED',
  'CLUSTER_AUTHORIZATION_FAILED',
  'OUT_OF_ORDER_SEQUENCE_NUMBER',
  'INVALID_PRODUCER_EPOCH',
  'UNKNOWN_PRODUCER_ID',
  'INVALID_PRODUCER_ID_MAPPING',
  'INVALID_TXN_STATE',
]);

/** The batches of one partition. Only one is in flight at a time, so that the order is kept. */
export class PartitionQueue {
  #batches: PendingBatch[] = [];
  #linger: Timer | undefined;
  #identity: ProducerIdentity | undefined;
  #sequence = 0;
  #isDraining = false;

  constructor(
    private readonly to: TopicPartition,
    private readonly context: QueueContext,
  ) {}

  add(entry: BatchEntry): void {
    const owner = entry.call.hasOwnBatches ? entry.call : undefined;
    const last = this.#batches.at(-1);
    const isFull = last && last.bytes + entry.bytes > this.context.options.batchBytes;
    if (isFull) this.#markAllReady();
    if (last && !last.isReady && last.call === owner) return last.add(entry);
    const batch = new PendingBatch(owner);
    this.#batches.push(batch);
    batch.add(entry);
  }

  /** Sends full batches now, and others after the linger time. */
  sendReady(): void {
    if (this.context.options.lingerMs === 0) return this.flush();
    this.#drain();
    if (this.#batches.length > 0)
      this.#linger ??= this.context.runtime.setTimer(
        () => this.flush(),
        this.context.options.lingerMs,
      );
  }

  flush(): void {
    this.#linger?.cancel();
    this.#linger = undefined;
    this.#markAllReady();
    this.#drain();
  }

  /** Drops the batches of the call that are not sent yet. */
  cancel(call: SendCall, error: Error): void {
    const given = this.#batches.filter((batch) => batch.call === call);
    this.#batches = this.#batches.filter((batch) => batch.call !== call);
    for (const batch of given) this.#fail(batch, 'not-written', error);
  }

  #markAllReady(): void {
    for (const batch of this.#batches) batch.isReady = true;
  }

  #drain(): void {
    if (this.#isDraining || !this.#batches[0]?.isReady) return;
    this.#isDraining = true;
    void this.#deliverReady().finally(() => {
      this.#isDraining = false;
      this.#drain();
    });
  }

  async #deliverReady(): Promise<void> {
    while (this.#batches[0]?.isReady) {
      const batch = this.#batches.shift();
      if (batch) await this.#deliver(batch);
    }
  }

  async #deliver(batch: PendingBatch): Promise<void> {
    const { runtime, options, signal } = this.context;
    const backoff = new Backoff(runtime, { initialMs: 20, maxMs: 1_000 });
    let encoded: Buffer | undefined;
    let isUncertain = false;
    for (;;) {
      const left = batch.deadline - runtime.monotonic();
      if (left <= 0 && !encoded) return this.#fail(batch, 'not-written', neverSentError());
      const timeoutMs = Math.max(1, Math.min(options.requestTimeoutMs, left));
      try {
        const identity = (this.#identity ??= await this.context.sink.identify({
          timeoutMs,
          signal,
        }));
        encoded ??= this.#encode(batch, identity);
        const appended = await this.context.sink.append(identity, this.to, encoded, {
          timeoutMs,
          signal,
        });
        this.#sequence = (this.#sequence + batch.entries.length) % SEQUENCES;
        batch.succeed(this.to, appended);
        return this.#release(batch);
      } catch (error) {
        if (isRefusal(error, 'UNKNOWN_TOPIC_OR_PARTITION')) this.context.onTopicMissing();
        isUncertain ||= encoded !== undefined && mayBeWritten(error);
        const next = this.#nextStep(batch, error, isUncertain);
        if (next === 'split') return this.#split(batch);
        const isOver =
          runtime.monotonic() >= batch.deadline ||
          batch.call?.cancellation !== undefined ||
          this.#hasWaitedForTopic(batch, error);
        if (next === 'give-up' || isOver || signal.aborted)
          return this.#giveUp(batch, error, isUncertain);
        if (next === 'start-anew') encoded = undefined;
        const pauseMs = Math.min(backoff.next(), batch.deadline - runtime.monotonic());
        await sleep(runtime, pauseMs, signal).catch(() => undefined);
      }
    }
  }

  #hasWaitedForTopic({ entries: [first] }: PendingBatch, error: unknown): boolean {
    if (!first || !isRefusal(error, 'UNKNOWN_TOPIC_OR_PARTITION')) return false;
    const { runtime, options } = this.context;
    return runtime.monotonic() - first.call.startedAt >= options.missingTopicTimeoutMs;
  }

  #nextStep(
    batch: PendingBatch,
    error: unknown,
    isUncertain: boolean,
  ): 'repeat' | 'split' | 'start-anew' | 'give-up' {
    if (isRefusal(error, 'MESSAGE_TOO_LARGE') && batch.entries.length > 1 && !isUncertain)
      return 'split';
    const isGap = isRefusal(
      error,
      'OUT_OF_ORDER_SEQUENCE_NUMBER',
      'INVALID_PRODUCER_EPOCH',
      'UNKNOWN_PRODUCER_ID',
    );
    if (isGap && !this.context.sink.transactional) {
      this.#resetSequence();
      return isUncertain ? 'give-up' : 'start-anew';
    }
    return isRetriable(error) ? 'repeat' : 'give-up';
  }

  #encode(batch: PendingBatch, identity: ProducerIdentity): Buffer {
    const { options, sink } = this.context;
    const sequence = identity.producerId < 0 ? -1 : this.#sequence;
    return batch.encode(identity, sequence, options.compression, sink.transactional);
  }

  #split(batch: PendingBatch): void {
    this.#batches.unshift(...batch.split());
  }

  /**
   * Fails a batch. If the batch may be in the log, its sequence number may be used, so the
   * partition needs a new producer id.
   */
  #giveUp(batch: PendingBatch, error: unknown, isUncertain: boolean): void {
    if (isUncertain && !this.context.sink.transactional) this.#resetSequence();
    const state = isUncertain ? 'unknown' : 'not-written';
    this.#fail(batch, state, this.#errorFor(batch, error));
  }

  #errorFor(batch: PendingBatch, error: unknown): Error {
    const shown = this.context.sink.errorOf(error, this.to.topic);
    if (this.context.signal.aborted)
      return new ClosedError('The producer was closed before the record was acknowledged.', {
        cause: shown,
      });
    if (!shown.retriable) return shown;
    if (batch.deadline > this.context.runtime.monotonic()) return batch.call?.cancellation ?? shown;
    return new RequestTimeoutError(
      `The record was not acknowledged before its delivery timeout. Check the partition, or raise deliveryTimeoutMs. The last attempt ended with: ${shown.message}`,
      { cause: shown },
    );
  }

  #resetSequence(): void {
    this.#identity = undefined;
    this.#sequence = 0;
  }

  #fail(batch: PendingBatch, state: 'not-written' | 'unknown', error: Error): void {
    batch.fail(state, error);
    this.#release(batch);
  }

  #release(batch: PendingBatch): void {
    this.context.budget.release(batch.entries.reduce((sum, { bytes }) => sum + bytes, 0));
  }
}

function neverSentError(): RequestTimeoutError {
  return new RequestTimeoutError(
    'The delivery timeout of the record expired before it could be sent, because earlier records took too long. Send fewer at a time, or raise deliveryTimeoutMs.',
  );
}

/** Returns whether the batch may be in the log although no response has confirmed it. */
function mayBeWritten(error: unknown): boolean {
  if (error instanceof ConnectionRefusedError) return false;
  return !(error instanceof Refusal && NOT_WRITTEN.has(error.reason));
}
