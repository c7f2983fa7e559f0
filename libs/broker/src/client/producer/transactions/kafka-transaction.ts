import type { ProducerFencedError } from '../../../port/errors.js';
import type { TransactionOffsets } from '../../../port/producer.js';
import type { OutgoingRecord, WrittenRecord } from '../../../port/record.js';
import type { Ending, TransactionWork, Verdict } from '../../../port/transaction-course.js';
import {
  addOffsetsRequest,
  endTransactionRequest,
  errorOfCode,
  offsetsInTransactionRequest,
  reactionTo,
} from '../../../wire/index.js';
import type { CoordinatorLink } from './coordinator-link.js';
import { refusalOfOffsets } from './group-offsets.js';
import type { ProducerEpoch } from './producer-epoch.js';
import { INVALID_TXN_STATE } from './producer-state.js';

export interface TransactionParts {
  readonly epoch: ProducerEpoch;
  readonly link: CoordinatorLink;
  readonly deliveryTimeoutMs: number;
  linkToGroup(groupId: string): CoordinatorLink;
  onFenced(cause: Error, brokerCode: number): ProducerFencedError;
  onOver(): void;
}

/** The steps of a transaction with the brokers of a cluster. */
export class KafkajsTransaction implements TransactionWork {
  #hasOffsets = false;

  constructor(private readonly parts: TransactionParts) {}

  async send(
    records: readonly OutgoingRecord[],
    signal: AbortSignal,
  ): Promise<readonly WrittenRecord[]> {
    const { epoch, deliveryTimeoutMs } = this.parts;
    try {
      return await epoch.dispatch.send(records, deliveryTimeoutMs, signal);
    } catch (error) {
      epoch.wear();
      throw error;
    }
  }

  async sendOffsets(offsets: TransactionOffsets, signal: AbortSignal): Promise<void> {
    const { epoch, linkToGroup } = this.parts;
    const { groupId } = offsets;
    this.#hasOffsets = true;
    if (epoch.producer.flow === 'announced') await this.#addGroup(groupId, signal);
    const codes = await linkToGroup(groupId).ask({
      doing: `Committing offsets of group "${groupId}" with a transaction`,
      request: offsetsInTransactionRequest(epoch.producer, offsets, offsets.offsets),
      codesOf: (answer) => answer.map(({ code }) => code),
      onUnknown: this.#onUnknown,
      signal,
    });
    const refusal = refusalOfOffsets(offsets, epoch.producer, codes);
    if (refusal) throw refusal;
  }

  hurry(): void {
    this.parts.epoch.dispatch.hurry(true);
  }

  async end(verdict: Verdict): Promise<Ending> {
    const { epoch, link } = this.parts;
    if (!this.#hasOffsets && !epoch.hasBegun) return { kind: 'done' };
    const doing = `Ending a transaction of "${epoch.producer.transactionalId}" (${verdict})`;
    let mayHaveEnded = false;
    epoch.mayBeOpen = true;
    try {
      const answer = await link.ask({
        doing,
        request: endTransactionRequest(epoch.producer, verdict === 'commit'),
        codesOf: ({ code }) => [code],
        onUnknown: () => {
          mayHaveEnded = true;
          this.#onUnknown();
        },
      });
      epoch.ended(answer);
      return this.#endingOf(verdict, answer.code, doing, mayHaveEnded);
    } catch (error) {
      epoch.wear();
      return { kind: 'failed', error: error as Error, mayHaveEnded };
    }
  }

  over(): void {
    this.parts.onOver();
  }

  #endingOf(verdict: Verdict, code: number, doing: string, mayHaveEnded: boolean): Ending {
    const { epoch, onFenced } = this.parts;
    epoch.mayBeOpen = code !== 0 && code !== INVALID_TXN_STATE;
    if (code === 0) return { kind: 'done' };
    epoch.wear();
    const error = errorOfCode(code, doing);
    if (code === INVALID_TXN_STATE) {
      // Somebody else has aborted it: the coordinator, for its time was up, or for another producer.
      if (verdict === 'commit' && epoch.producer.flow === 'implied')
        return { kind: 'fenced', error: onFenced(error, code), mayHaveEnded: false };
      return { kind: 'otherwise', error };
    }
    if (reactionTo('transaction', code) === 'producer-fenced')
      return { kind: 'fenced', error: onFenced(error, code), mayHaveEnded };
    return { kind: 'failed', error, mayHaveEnded };
  }

  /** The coordinator has to know of the group before it takes offsets. */
  async #addGroup(groupId: string, signal: AbortSignal): Promise<void> {
    const { epoch, link } = this.parts;
    const doing = `Adding offsets of group "${groupId}" to a transaction of "${epoch.producer.transactionalId}"`;
    const { code } = await link.ask({
      doing,
      request: addOffsetsRequest(epoch.producer, groupId),
      codesOf: (answer) => [answer.code],
      onUnknown: this.#onUnknown,
      signal,
    });
    if (code === 0) return;
    const error = errorOfCode(code, doing);
    throw reactionTo('transaction', code) === 'producer-fenced'
      ? this.parts.onFenced(error, code)
      : error;
  }

  readonly #onUnknown = (): void => this.parts.epoch.askedTwice();
}
