import type { ProducerFencedError } from '../../../port/errors.js';
import type { TransactionOffsets } from '../../../port/producer.js';
import type { OutgoingRecord, WrittenRecord } from '../../../port/record.js';
import type {
  EndResult,
  TransactionOperations,
  TransactionOutcome,
} from '../../../port/transaction-lifecycle.js';
import {
  addOffsetsRequest,
  endTransactionRequest,
  errorOfCode,
  transactionOffsetCommitRequest,
  reactionTo,
} from '../../../wire/index.js';
import type { CoordinatorClient } from './coordinator-client.js';
import { offsetCommitError } from './offset-commit-error.js';
import type { ProducerEpoch } from './producer-epoch.js';
import { INVALID_TXN_STATE } from './producer-state.js';

export interface KafkaTransactionOptions {
  readonly epoch: ProducerEpoch;
  readonly coordinator: CoordinatorClient;
  readonly deliveryTimeoutMs: number;
  groupCoordinator(groupId: string): CoordinatorClient;
  onFenced(cause: Error, brokerCode: number): ProducerFencedError;
  onOver(): void;
}

/** Sends the requests of a transaction to the brokers. */
export class KafkaTransaction implements TransactionOperations {
  #hasOffsets = false;

  constructor(private readonly options: KafkaTransactionOptions) {}

  async send(
    records: readonly OutgoingRecord[],
    signal: AbortSignal,
  ): Promise<readonly WrittenRecord[]> {
    const { epoch, deliveryTimeoutMs } = this.options;
    try {
      return await epoch.pipeline.send(records, deliveryTimeoutMs, signal);
    } catch (error) {
      epoch.markStale();
      throw error;
    }
  }

  async sendOffsets(offsets: TransactionOffsets, signal: AbortSignal): Promise<void> {
    const { epoch, groupCoordinator } = this.options;
    const { groupId } = offsets;
    this.#hasOffsets = true;
    if (epoch.producer.protocol === 'v1') await this.#addGroup(groupId, signal);
    const codes = await groupCoordinator(groupId).request({
      doing: `Committing offsets of group "${groupId}" with a transaction`,
      request: transactionOffsetCommitRequest(epoch.producer, offsets, offsets.offsets),
      codesOf: (answer) => answer.map(({ code }) => code),
      onUnknownEffect: this.#onUnknownEffect,
      signal,
    });
    const refusal = offsetCommitError(offsets, epoch.producer, codes);
    if (refusal) throw refusal;
  }

  flush(): void {
    this.options.epoch.pipeline.skipLinger(true);
  }

  async end(outcome: TransactionOutcome): Promise<EndResult> {
    const { epoch, coordinator } = this.options;
    // A transaction without records and offsets needs no end, because the coordinator does not know
    // it.
    if (!this.#hasOffsets && !epoch.hasBegun) return { kind: 'done' };
    const doing = `Ending a transaction of "${epoch.producer.transactionalId}" (${outcome})`;
    let mayHaveEnded = false;
    epoch.mayBeOpen = true;
    try {
      const answer = await coordinator.request({
        doing,
        request: endTransactionRequest(epoch.producer, outcome === 'commit'),
        codesOf: ({ code }) => [code],
        onUnknownEffect: () => {
          mayHaveEnded = true;
          this.#onUnknownEffect();
        },
      });
      epoch.onTransactionEnded(answer);
      return this.#resultOf(outcome, answer.code, doing, mayHaveEnded);
    } catch (error) {
      epoch.markStale();
      return { kind: 'failed', error: error as Error, mayHaveEnded };
    }
  }

  onEnded(): void {
    this.options.onOver();
  }

  #resultOf(
    outcome: TransactionOutcome,
    code: number,
    doing: string,
    mayHaveEnded: boolean,
  ): EndResult {
    const { epoch, onFenced } = this.options;
    epoch.mayBeOpen = code !== 0 && code !== INVALID_TXN_STATE;
    if (code === 0) return { kind: 'done' };
    epoch.markStale();
    const error = errorOfCode(code, doing);
    if (code === INVALID_TXN_STATE) {
      // The coordinator has aborted the transaction, because of its timeout or for another
      // producer.
      if (outcome === 'commit' && epoch.producer.protocol === 'v2')
        return { kind: 'fenced', error: onFenced(error, code), mayHaveEnded: false };
      return { kind: 'wrong-state', error };
    }
    if (reactionTo('transaction', code) === 'producer-fenced')
      return { kind: 'fenced', error: onFenced(error, code), mayHaveEnded };
    return { kind: 'failed', error, mayHaveEnded };
  }

  /**
   * Adds the group to the transaction. In protocol v1 the coordinator must know the group before it
   * accepts the offsets.
   */
  async #addGroup(groupId: string, signal: AbortSignal): Promise<void> {
    const { epoch, coordinator } = this.options;
    const doing = `Adding offsets of group "${groupId}" to a transaction of "${epoch.producer.transactionalId}"`;
    const { code } = await coordinator.request({
      doing,
      request: addOffsetsRequest(epoch.producer, groupId),
      codesOf: (answer) => [answer.code],
      onUnknownEffect: this.#onUnknownEffect,
      signal,
    });
    if (code === 0) return;
    const error = errorOfCode(code, doing);
    throw reactionTo('transaction', code) === 'producer-fenced'
      ? this.options.onFenced(error, code)
      : error;
  }

  readonly #onUnknownEffect = (): void => this.options.epoch.onUnknownEffect();
}
