import type { Delivery } from './delivery.js';

/** What became of a delivery. Only `succeeded` and `discarded` let the watermark pass. */
export type Outcome =
  | { readonly kind: 'succeeded' }
  | { readonly kind: 'discarded'; readonly reason: string }
  | { readonly kind: 'failed'; readonly error: Error }
  | { readonly kind: 'handed-back'; readonly delayMs?: number };

export const succeeded: Outcome = Object.freeze({ kind: 'succeeded' });

/** What intake calls. An implementation never throws: a failure is an outcome. */
export interface RecordProcessor {
  process(delivery: Delivery): Outcome | Promise<Outcome>;
  /** Takes a slice of one partition at once and gives one outcome per record, in order. Present for batch handlers only. */
  processSlice?(slice: readonly Delivery[]): readonly Outcome[] | Promise<readonly Outcome[]>;
}
