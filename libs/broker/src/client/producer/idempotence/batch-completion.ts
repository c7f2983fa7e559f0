import { BrokerError, ProducerFencedError, RecordTooLargeError } from '../../../port/errors.js';
import type { PartitionQueue } from '../batching/partition-queue.js';
import type { PendingBatch } from '../batching/pending-batch.js';
import type { ProduceVerdict } from './produce-verdict.js';
import type { SenderContext } from '../sender-options.js';

/** How a queue goes on: with its next batch, or with the same one after a while. */
export type Sequel =
  { readonly kind: 'next' } | { readonly kind: 'again'; readonly refresh: boolean };

const NEXT: Sequel = { kind: 'next' };

/** Carries out what an answer, or its absence, means for the batch at the head of a queue. */
export class Settlement {
  constructor(private readonly context: Pick<SenderContext, 'logger' | 'options'>) {}

  settle(queue: PartitionQueue, head: PendingBatch, verdict: ProduceVerdict): Sequel {
    head.stage = 'queued';
    switch (verdict.kind) {
      case 'written':
        this.#written(queue, head, verdict.baseOffset, verdict.appendTime);
        return NEXT;
      case 'retry':
        head.trouble = verdict.error;
        head.mayBeWritten ||= verdict.mayBeWritten;
        head.dropAbandoned();
        return { kind: 'again', refresh: verdict.refresh };
      case 'split':
        head.trouble = verdict.error;
        head.dropAbandoned();
        this.#tooLarge(queue, head, verdict.error);
        return NEXT;
      case 'out-of-sequence':
        return queue.sequence?.isTransactional === true
          ? this.#outOfTransaction(queue, head, verdict.error, verdict.needsNewId)
          : this.#outOfSequence(queue, head, verdict.error, verdict.needsNewId);
      case 'refused':
        head.mayBeWritten ||= verdict.mayBeWritten;
        this.#refused(queue, head, verdict.error, verdict.faulty);
        return NEXT;
    }
  }

  #written(queue: PartitionQueue, head: PendingBatch, baseOffset: number, time: number): void {
    if (baseOffset >= 0) this.#checkRising(queue, baseOffset, head.count);
    queue.backoff.reset();
    head.written(baseOffset, time);
    queue.headWritten();
  }

  /** A broker that answers an old base offset has not written the batch: it took it for another one. */
  #checkRising(queue: PartitionQueue, baseOffset: number, count: number): void {
    const { topic, partition, lastOffset } = queue;
    if (baseOffset <= lastOffset)
      this.context.logger.error(
        'The broker acknowledged records at offsets that it had given before: the topic was created anew, its log was cut back, or the records were not written. Check the partition.',
        { topic, partition, baseOffset, lastOffset },
      );
    queue.lastOffset = baseOffset + count - 1;
  }

  #tooLarge(queue: PartitionQueue, head: PendingBatch, cause: Error): void {
    if (queue.isHeadFixed) return this.#failHead(queue, head, cause);
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
    if (!isNamed || queue.isHeadFixed) return this.#failHead(queue, head, error);
    head.trouble = error;
    head.dropAbandoned();
    queue.failInHead(faulty);
  }

  #failHead(queue: PartitionQueue, head: PendingBatch, error: Error): void {
    head.failed(head.fateIfGivenUp, error);
    queue.giveUpHead();
  }

  /** There is no counting anew in a transaction: it has failed. */
  #outOfTransaction(
    queue: PartitionQueue,
    head: PendingBatch,
    cause: Error,
    isFenced: boolean,
  ): Sequel {
    const { transactionalId = '' } = this.context.options;
    const brokerCode = cause instanceof BrokerError ? cause.brokerCode : undefined;
    const fenced = new ProducerFencedError(transactionalId, undefined, { cause, brokerCode });
    this.#failHead(queue, head, isFenced ? fenced : cause);
    return NEXT;
  }

  /**
   * The partition counts anew. A batch that was surely not written goes again under its new
   * number; one that may have been would be written twice.
   */
  #outOfSequence(
    queue: PartitionQueue,
    head: PendingBatch,
    error: Error,
    needsNewId: boolean,
  ): Sequel {
    const { topic, partition, sequence, isHeadFixed } = queue;
    this.context.logger.warn(
      'The broker lost track of what this producer has written to a partition: it counts anew there. Records acknowledged before may be gone if a leader was elected that did not have them.',
      { topic, partition, error: error.message },
    );
    head.trouble = error;
    const isLost = isHeadFixed || sequence === undefined;
    if (isLost) this.#failHead(queue, head, error);
    else {
      sequence.restart();
      head.dropAbandoned();
    }
    if (needsNewId) sequence?.renounce();
    return isLost ? NEXT : { kind: 'again', refresh: false };
  }
}
