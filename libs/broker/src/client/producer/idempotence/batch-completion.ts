import { errorReasonOf } from '../../../port/error-text.js';
import { BrokerError, ProducerFencedError, RecordTooLargeError } from '../../../port/errors.js';
import type { PartitionQueue } from '../batching/partition-queue.js';
import type { PendingBatch } from '../batching/pending-batch.js';
import type { ProduceResult } from './produce-result.js';
import type { SenderContext } from '../sender-context.js';

/** The next step of a queue: its next batch, or a retry of the same batch after a delay. */
export type NextStep =
  { readonly kind: 'next' } | { readonly kind: 'retry'; readonly refresh: boolean };

const NEXT: NextStep = { kind: 'next' };

/** Applies the result of a request, or its failure, to the batch at the head of a queue. */
export class BatchCompletion {
  constructor(private readonly context: Pick<SenderContext, 'logger' | 'options'>) {}

  complete(queue: PartitionQueue, head: PendingBatch, result: ProduceResult): NextStep {
    head.stage = 'queued';
    switch (result.kind) {
      case 'written':
        this.#written(queue, head, result.baseOffset, result.appendTime);
        return NEXT;
      case 'retry':
        head.lastError = result.error;
        head.mayBeWritten ||= result.mayBeWritten;
        head.dropAbandoned();
        return { kind: 'retry', refresh: result.refresh };
      case 'split':
        head.lastError = result.error;
        head.dropAbandoned();
        this.#tooLarge(queue, head, result.error);
        return NEXT;
      case 'out-of-sequence':
        return queue.sequence?.isTransactional === true
          ? this.#failTransaction(queue, head, result.error, result.needsNewId)
          : this.#restartSequence(queue, head, result.error, result.needsNewId);
      case 'refused':
        head.mayBeWritten ||= result.mayBeWritten;
        this.#refused(queue, head, result.error, result.faulty);
        return NEXT;
    }
  }

  #written(queue: PartitionQueue, head: PendingBatch, baseOffset: number, time: number): void {
    if (baseOffset >= 0) this.#checkOffsetsRise(queue, baseOffset, head.count);
    queue.backoff.reset();
    head.written(baseOffset, time);
    queue.completeHead();
  }

  /**
   * Logs an error if the base offset does not increase. A broker that returns an old base offset
   * has not written the batch, but treated it as a duplicate of an earlier one.
   */
  #checkOffsetsRise(queue: PartitionQueue, baseOffset: number, count: number): void {
    const { topic, partition, lastOffset } = queue;
    if (baseOffset <= lastOffset)
      this.context.logger.error(
        'The broker acknowledged records at offsets that it had already assigned: the topic was recreated, its log was truncated, or the records were not written. Check the partition.',
        { topic, partition, baseOffset, lastOffset },
      );
    queue.lastOffset = baseOffset + count - 1;
  }

  #tooLarge(queue: PartitionQueue, head: PendingBatch, cause: Error): void {
    if (queue.isHeadImmutable) return this.#failHead(queue, head, cause);
    if (head.count > 1) return queue.splitHead();
    const { topic, partition } = queue;
    const error = new RecordTooLargeError(
      `A record of ${head.sizeInBytes} bytes is larger than partition ${partition} of "${topic}" accepts. Send less in one record, or raise the topic's max.message.bytes.`,
      { cause, brokerCode: cause instanceof BrokerError ? cause.brokerCode : undefined },
    );
    this.#failHead(queue, head, error);
  }

  #refused(
    queue: PartitionQueue,
    head: PendingBatch,
    error: Error,
    faulty: ReadonlyMap<number, Error>,
  ): void {
    const isNamed = [...faulty.keys()].some((position) => position >= 0 && position < head.count);
    if (!isNamed || queue.isHeadImmutable) return this.#failHead(queue, head, error);
    head.lastError = error;
    head.dropAbandoned();
    queue.failRecordsOfHead(faulty);
  }

  #failHead(queue: PartitionQueue, head: PendingBatch, error: Error): void {
    head.failed(head.stateIfAbandoned, error);
    queue.dropHead();
  }

  /** Fails the batch and the transaction, because a transaction cannot continue in a new epoch. */
  #failTransaction(
    queue: PartitionQueue,
    head: PendingBatch,
    cause: Error,
    isFenced: boolean,
  ): NextStep {
    const { transactionalId = '' } = this.context.options;
    const brokerCode = cause instanceof BrokerError ? cause.brokerCode : undefined;
    const fenced = new ProducerFencedError(transactionalId, undefined, { cause, brokerCode });
    this.#failHead(queue, head, isFenced ? fenced : cause);
    return NEXT;
  }

  /**
   * Restarts the sequence of the partition. A batch that was certainly not written is sent again
   * under a new number. A batch that may have been written fails, because a second attempt could
   * write it twice.
   */
  #restartSequence(
    queue: PartitionQueue,
    head: PendingBatch,
    error: Error,
    needsNewId: boolean,
  ): NextStep {
    const { topic, partition, sequence, isHeadImmutable } = queue;
    this.context.logger.warn(
      'The broker has lost the producer state of a partition, so the sequence numbers restart there. Acknowledged records may be lost if the new leader did not have them.',
      { topic, partition, error: errorReasonOf(error) },
    );
    head.lastError = error;
    const isLost = isHeadImmutable || sequence === undefined;
    if (isLost) this.#failHead(queue, head, error);
    else {
      sequence.restart();
      head.dropAbandoned();
    }
    if (needsNewId) sequence?.discardProducerId();
    return isLost ? NEXT : { kind: 'retry', refresh: false };
  }
}
