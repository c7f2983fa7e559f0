import type { BrokerRecord, OutgoingRecord } from '@nest-event-bus/broker';
import type { Delivery } from './delivery.js';
import type { DltCause, DltReason } from '../records/dlt-record.js';
import type { FailedOutcome } from './failed-outcome.js';

/** What became of a delivery. `failed` and `handed-back` keep the watermark where it is; the others let it pass. */
export type Outcome =
  | ({ readonly kind: 'succeeded' } & WithOutputs)
  | ({ readonly kind: 'discarded'; readonly reason: string } & WithOutputs)
  /** A retry topic has it, acknowledged by all in-sync replicas. */
  | { readonly kind: 'retried'; readonly tier: number; readonly delivery: number }
  /** Its dead-letter topic has it, acknowledged by all in-sync replicas. */
  | { readonly kind: 'dead-lettered'; readonly reason: DltReason; readonly cause: DltCause }
  | FailedOutcome
  | { readonly kind: 'handed-back'; readonly delayMs?: number };

/** What the handler sent with `ctx.transaction`; left out where it sent nothing, or it is written already. */
interface WithOutputs {
  readonly outputs?: readonly OutgoingRecord[];
}

export const succeeded: Outcome = Object.freeze({ kind: 'succeeded' });

/** The watermark may pass the record. */
export function isFinal({ kind }: Outcome): boolean {
  return kind !== 'failed' && kind !== 'handed-back';
}

/** Without a wait that somebody chose. */
export const handedBack: Outcome = Object.freeze({ kind: 'handed-back' });

/** What intake calls. An implementation never throws: a failure is an outcome. */
export interface RecordProcessor {
  process(delivery: Delivery): Outcome | Promise<Outcome>;
  /**
   * When the record may be handed out: milliseconds since 1970. The lane waits with it in its
   * place, and whatever follows in the partition waits too. Left out: at once.
   */
  dueAt?(record: BrokerRecord): number;
  /**
   * Takes a slice of one partition and gives one outcome per record, in order; to those at its end
   * without one it has not come. Where all others are done it is asked again for these, at once or
   * in another slice: so it answers after each call of a handler. None at all is a failure, unless
   * the work was called off. Present for batch handlers and transactions only.
   */
  processSlice?(slice: readonly Delivery[]): readonly Outcome[] | Promise<readonly Outcome[]>;
  /** A session with this index is about to join its group. */
  open?(sessionIndex: number): void;
  /** It has left. Bounded; never rejects. */
  close?(sessionIndex: number): Promise<void>;
}
