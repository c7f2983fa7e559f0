import {
  type BrokerDriver,
  type DriverLogger,
  errorSentenceOf,
  InvalidOptionError,
  type OffsetCommit,
  RecordTooLargeError,
} from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import { TransactionException } from '../../errors/transaction-errors.js';
import type { Delivery } from '../../model/outcomes/delivery.js';
import { handedBack, isFinal, succeeded, type Outcome } from '../../model/outcomes/outcome.js';
import { SessionTransactions, type TransactionResult } from './session-transactions.js';

export interface SliceTransactionsParts {
  readonly driver: Pick<BrokerDriver, 'producer'>;
  /** Returns the transactional id for the session with this index. */
  readonly transactionalId: (sessionIndex: number) => string;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

/** A record whose handler has returned or failed. */
export interface HandledRecord {
  readonly delivery: Delivery;
  readonly outcome: Outcome;
}

/**
 * Commits the records that handlers have sent, together with the offsets of the handled records,
 * for all sessions of a container. If no record was sent, there is no transaction, and the consumer
 * commits the offsets.
 */
export class SliceTransactions {
  readonly #sessions = new Map<number, SessionTransactions>();

  constructor(private readonly parts: SliceTransactionsParts) {}

  open(sessionIndex: number): void {
    const { transactionalId, ...parts } = this.parts;
    const id = transactionalId(sessionIndex);
    const session = new SessionTransactions({ ...parts, transactionalId: id });
    this.#sessions.set(sessionIndex, session);
    session.abortPredecessor();
  }

  async close(sessionIndex: number): Promise<void> {
    const session = this.#sessions.get(sessionIndex);
    this.#sessions.delete(sessionIndex);
    await session?.close();
  }

  /**
   * Commits handled records of one partition, given in order. Returns an outcome for each record up
   * to the first one that is not done. Later records are ignored, because a committed offset says
   * that all earlier records are done.
   */
  async settle(handled: readonly HandledRecord[]): Promise<readonly Outcome[]> {
    reportHandlerReturned(handled, undefined);
    const end = handled.findIndex(({ outcome }) => !isFinal(outcome));
    const stopped = handled[end]?.outcome;
    const done = stopped ? handled.slice(0, end) : handled;
    const outcomes = await this.#commit(done);
    return stopped && outcomes.every(isFinal) ? [...outcomes, stopped] : outcomes;
  }

  async #commit(done: readonly HandledRecord[]): Promise<readonly Outcome[]> {
    const outputs = done.flatMap(({ outcome }) => outputsOf(outcome));
    const last = done.at(-1)?.delivery;
    if (!last || outputs.length === 0) return done.map(({ outcome }) => outcome);
    const { assignment, sessionIndex } = last;
    const session = this.#sessions.get(sessionIndex);
    if (!assignment || !session) return [handedBack];
    const offset = nextOffsetOf(last);
    let ending: TransactionResult;
    try {
      const onWaiting = (trouble: Error | undefined): void => reportHandlerReturned(done, trouble);
      ending = await session.commit({ outputs, offset, assignment, onWaiting });
    } catch (error) {
      const isBadOutput = isInvalidOutput(error);
      return isBadOutput && done.length > 1
        ? this.#commitOneByOne(done)
        : [commitFailed(error, isBadOutput)];
    }
    if (ending === 'not-ours') return [handedBack];
    assignment.confirm(offset);
    return done.map(({ outcome }) => withoutOutputs(outcome));
  }

  /**
   * Commits a transaction for each record. If a handler has sent something that cannot be written,
   * only the record of that handler fails.
   */
  async #commitOneByOne(done: readonly HandledRecord[]): Promise<readonly Outcome[]> {
    const outcomes: Outcome[] = [];
    for (const each of done) {
      outcomes.push(...(await this.#commit([each])));
      if (!outcomes.every(isFinal)) break;
    }
    return outcomes;
  }
}

function reportHandlerReturned(
  handled: readonly HandledRecord[],
  trouble: Error | undefined,
): void {
  for (const { delivery } of handled) delivery.onHandlerReturned(trouble);
}

function nextOffsetOf({ record }: Delivery): OffsetCommit {
  const { topic, partition, offset, leaderEpoch } = record;
  return { topic, partition, offset: offset + 1, leaderEpoch };
}

function outputsOf(outcome: Outcome) {
  return 'outputs' in outcome && outcome.outputs ? outcome.outputs : [];
}

function withoutOutputs(outcome: Outcome): Outcome {
  if (outcome.kind === 'discarded') return { kind: 'discarded', reason: outcome.reason };
  return outcome.kind === 'succeeded' ? succeeded : outcome;
}

/**
 * Returns the failure of a transaction. If a broker can never accept a record that the handler has
 * sent, another attempt would send the same record, so there is none. Any other failure is that of
 * the cluster, and is retried.
 */
function commitFailed(cause: unknown, isBadOutput: boolean): Outcome {
  const advice = isBadOutput ? 'Look at what the handler sends.' : 'It is tried again.';
  const error = new TransactionException(
    `What the handler sent could not be committed with its record: ${errorSentenceOf(cause)} ${advice}`,
    !isBadOutput,
    { cause },
  );
  return isBadOutput
    ? { kind: 'failed', reason: 'bad-message', error, attempts: 1 }
    : { kind: 'failed', reason: 'redeliver', error, attempts: 0 };
}

function isInvalidOutput(error: unknown): boolean {
  if (error instanceof RecordTooLargeError || error instanceof InvalidOptionError) return true;
  return error instanceof Error && error.cause !== undefined && isInvalidOutput(error.cause);
}
