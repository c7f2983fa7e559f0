import type { RecordHolder, SendCall } from '../send-call.js';

/** The reason why records are not encoded yet: no memory, or no metadata of their topic. */
export interface Blocker {
  /** Returns the error for records that were still waiting at their deadline. */
  timeoutError(call: SendCall): Error;
}

/**
 * The records of one call that are not encoded yet, in order. They wait for memory or for the
 * metadata of their topic.
 */
export class PendingRecords implements RecordHolder {
  readonly isInFlight = false;
  #next = 0;

  constructor(
    readonly call: SendCall,
    public blocker: Blocker,
    /** The indexes of these records in the call. Undefined means all records of the call. */
    private readonly indexes?: number[],
  ) {
    call.addHolder(this);
  }

  get isEmpty(): boolean {
    return this.#next >= (this.indexes ?? this.call.records).length;
  }

  /** The index of the next record in the call. */
  get index(): number {
    return this.indexes === undefined ? this.#next : (this.indexes[this.#next] as number);
  }

  add(index: number): void {
    this.indexes?.push(index);
  }

  /** Continues with the next record, because the current one was encoded or has failed. */
  advance(): void {
    this.#next++;
  }

  abandon(reason: Error | undefined): void {
    if (this.isEmpty) return;
    const error = reason ?? this.blocker.timeoutError(this.call);
    while (!this.isEmpty) {
      const { index } = this;
      this.advance();
      this.call.failed(index, 'not-written', error);
    }
  }
}
