import { errorSentenceOf } from '../../../port/error-text.js';
import type { BrokerError } from '../../../port/errors.js';
import {
  CommitRefusedError,
  FencedError,
  OffsetMetadataTooLargeError,
  type CommitError,
} from '../../../port/errors.js';
import type { TopicPartition } from '../../../port/record.js';
import { partitionKey } from '../../../port/topic-partition.js';
import { Deferred } from '../../../runtime/index.js';

/** Reason why one partition of a commit was not stored. */
export type CommitFailure =
  | { readonly kind: 'fenced'; readonly cause?: BrokerError }
  | { readonly kind: 'metadata-too-large'; readonly cause: BrokerError }
  | { readonly kind: 'refused'; readonly cause: Error; readonly retriable: boolean };

/**
 * The kinds of failures, the most severe one first. If the partitions of a commit fail for
 * different reasons, the most severe one determines the error.
 */
const SEVERITY: readonly CommitFailure['kind'][] = ['fenced', 'metadata-too-large', 'refused'];

/** A call of `commit`, which ends when the result of each of its partitions is known. */
export class CommitCall {
  isSettled = false;
  readonly #waiting = new Map<string, TopicPartition>();
  readonly #failed: { readonly partition: TopicPartition; readonly failure: CommitFailure }[] = [];
  readonly #result = new Deferred();
  readonly done = this.#result.promise;

  constructor(partitions: readonly TopicPartition[]) {
    for (const partition of partitions) this.#waiting.set(partitionKey(partition), partition);
  }

  markStored(partition: TopicPartition): void {
    if (this.#waiting.delete(partitionKey(partition))) this.#settleWhenComplete();
  }

  markFailed({ topic, partition }: TopicPartition, failure: CommitFailure): void {
    if (!this.#waiting.delete(partitionKey({ topic, partition }))) return;
    this.#failed.push({ partition: { topic, partition }, failure });
    this.#settleWhenComplete();
  }

  /** Fails all partitions that have no result yet. */
  failRemaining(failure: CommitFailure): void {
    for (const partition of [...this.#waiting.values()]) this.markFailed(partition, failure);
  }

  #settleWhenComplete(): void {
    if (this.#waiting.size > 0) return;
    this.isSettled = true;
    if (this.#failed.length === 0) this.#result.resolve();
    else this.#result.reject(this.#error());
  }

  #error(): CommitError {
    const partitions = this.#failed.map(({ partition }) => partition);
    const failures = this.#failed.map(({ failure }) => failure);
    const worst = SEVERITY.flatMap((kind) => failures.filter((each) => each.kind === kind))[0];
    return errorOf(worst ?? { kind: 'fenced' }, partitions);
  }
}

function errorOf(failure: CommitFailure, partitions: readonly TopicPartition[]): CommitError {
  const names = partitions.map(partitionKey).join(', ');
  const options = { cause: failure.cause };
  switch (failure.kind) {
    case 'fenced':
      return new FencedError(
        partitions,
        `Not committed: ${names}. It is not assigned to this session (any more): its current owner decides its offset, so discard the result.`,
        options,
      );
    case 'metadata-too-large':
      return new OffsetMetadataTooLargeError(
        partitions,
        `Not committed: ${names}. The metadata is longer than the broker allows (offset.metadata.max.bytes, 4096 UTF-16 units by default). Commit with shorter metadata.`,
        options,
      );
    case 'refused':
      return new CommitRefusedError(
        partitions,
        `Not committed: ${names}. ${errorSentenceOf(failure.cause)}`,
        failure.retriable,
        options,
      );
  }
}
