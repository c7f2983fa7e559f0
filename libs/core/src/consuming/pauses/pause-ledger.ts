import { PAUSE_REASONS, type PauseReason } from './pause-reason.js';

/**
 * Backpressure only stops fetching, and buffered records go on. Every other reason stops the hand-
 * out.
 */
const SLOWS_ONLY: PauseReason = 'backpressure';

/**
 * Pause reasons of the session and of each partition. Removing a reason never removes another one.
 */
export class PauseLedger {
  readonly #session = new Set<PauseReason>();
  readonly #partitions = new Map<string, Set<PauseReason>>();

  /**
   * Adds a reason to a partition, or to the whole session. Returns false if it was there already.
   */
  add(reason: PauseReason, partition?: string): boolean {
    const reasons = partition === undefined ? this.#session : this.#reasonsOf(partition);
    if (reasons.has(reason)) return false;
    reasons.add(reason);
    return true;
  }

  /** Returns false if the reason was not there. */
  remove(reason: PauseReason, partition?: string): boolean {
    if (partition === undefined) return this.#session.delete(reason);
    const reasons = this.#partitions.get(partition);
    const removed = reasons?.delete(reason) ?? false;
    if (reasons?.size === 0) this.#partitions.delete(partition);
    return removed;
  }

  /** Removes all reasons of a partition, since they end with its assignment. */
  forget(partition: string): void {
    this.#partitions.delete(partition);
  }

  has(reason: PauseReason, partition?: string): boolean {
    const reasons = partition === undefined ? this.#session : this.#partitions.get(partition);
    return reasons?.has(reason) ?? false;
  }

  /** Reasons in the order of PAUSE_REASONS. */
  reasons(partition?: string): readonly PauseReason[] {
    const reasons = partition === undefined ? this.#session : this.#partitions.get(partition);
    return reasons ? PAUSE_REASONS.filter((reason) => reasons.has(reason)) : [];
  }

  /**
   * Returns whether no record of this partition may reach a handler, by its own reasons or by those
   * of the session.
   */
  stopsHandout(partition: string): boolean {
    return stops(this.#session) || stops(this.#partitions.get(partition));
  }

  #reasonsOf(partition: string): Set<PauseReason> {
    let reasons = this.#partitions.get(partition);
    if (!reasons) this.#partitions.set(partition, (reasons = new Set()));
    return reasons;
  }
}

function stops(reasons: ReadonlySet<PauseReason> | undefined): boolean {
  if (!reasons || reasons.size === 0) return false;
  return reasons.size > 1 || !reasons.has(SLOWS_ONLY);
}
