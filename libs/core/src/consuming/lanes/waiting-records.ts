import type { RecordWait } from '../../model/outcomes/delivery-history.js';

export type WaitReason = RecordWait['reason'];

export interface FailedRecord {
  readonly offset: number;
  readonly error: Error;
}

/**
 * Records of a lane that wait while others go on. A record waits until it is finished or dropped: a
 * new attempt does not end its wait. Only the begin and the end of a reason are reported, not each
 * record.
 */
export class WaitingRecords {
  readonly #waits = new Map<number, RecordWait>();
  readonly #counts: Record<WaitReason, number> = { backoff: 0, delay: 0 };

  constructor(private readonly onChange: () => void) {}

  has(reason: WaitReason): boolean {
    return this.#counts[reason] > 0;
  }

  get lowestFailed(): FailedRecord | undefined {
    let lowest: FailedRecord | undefined;
    for (const [offset, { error }] of this.#waits)
      if (error && offset < (lowest?.offset ?? Infinity)) lowest = { offset, error };
    return lowest;
  }

  begin(offset: number, wait: RecordWait): void {
    const earlier = this.#waits.get(offset);
    this.#waits.set(offset, wait);
    const isFirst = ++this.#counts[wait.reason] === 1;
    const wasLast = earlier !== undefined && --this.#counts[earlier.reason] === 0;
    if (isFirst || wasLast) this.onChange();
  }

  end(offset: number): void {
    if (this.#waits.size === 0) return;
    const wait = this.#waits.get(offset);
    if (!wait) return;
    this.#waits.delete(offset);
    if (--this.#counts[wait.reason] === 0) this.onChange();
  }

  endAll(): void {
    if (this.#waits.size === 0) return;
    this.#waits.clear();
    this.#counts.backoff = 0;
    this.#counts.delay = 0;
    this.onChange();
  }
}
