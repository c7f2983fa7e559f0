import type { OutgoingRecord } from '../../../port/record.js';
import type { Holding, SendCall } from '../send-call.js';

/** What records wait for before they are encoded. */
export interface Obstacle {
  /** What to say of a record for which it lasted too long. */
  explain(call: SendCall): Error;
}

/** Records of one call that are not encoded yet, in order: in line for memory, or before a topic that is not known. */
export class Arrival implements Holding {
  readonly isUnderWay = false;
  #next = 0;

  constructor(
    readonly call: SendCall,
    public obstacle: Obstacle,
    /** All of the call's records where none are named. */
    private readonly indexes?: number[],
  ) {
    call.heldBy(this);
  }

  get isEmpty(): boolean {
    return this.#next >= this.#length;
  }

  /** The index in the call of the record whose turn it is. */
  get index(): number {
    return this.indexes === undefined ? this.#next : (this.indexes[this.#next] as number);
  }

  get record(): OutgoingRecord {
    return this.call.records[this.index] as OutgoingRecord;
  }

  add(index: number): void {
    this.indexes?.push(index);
  }

  /** The record whose turn it was is somebody else's now. */
  pass(): void {
    this.#next++;
  }

  giveUp(reason: Error | undefined): void {
    if (this.isEmpty) return;
    const error = reason ?? this.obstacle.explain(this.call);
    while (!this.isEmpty) {
      const { index } = this;
      this.pass();
      this.call.failed(index, 'not-written', error);
    }
  }

  get #length(): number {
    return this.indexes === undefined ? this.call.records.length : this.indexes.length;
  }
}
