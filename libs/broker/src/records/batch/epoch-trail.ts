import type { BrokerRecord } from '../../port/record.js';

/** From this offset on, what we read was written by the leader of this epoch. */
interface Step {
  readonly epoch: number;
  readonly start: number;
}

/** Epochs rise with elections: far fewer lie between two places where a log may have been cut. */
const STEPS_KEPT = 64;

/**
 * Which leaders wrote what was read up to the position. After an election it tells where the new
 * leader's log and ours part (KIP-320): an epoch that only we have seen is not in its log.
 */
export class EpochTrail {
  #steps: Step[] = [];

  /** Of what stands before the position; -1 when unknown. */
  get last(): number {
    return this.#steps.at(-1)?.epoch ?? -1;
  }

  /** Of what stands before the offset; -1 when unknown. */
  before(offset: number): number {
    return this.#steps.findLast(({ start }) => start < offset)?.epoch ?? -1;
  }

  /** The position is another one, and all that is known of what stands before it is its epoch. */
  begin(position: number, epoch: number): void {
    this.#steps = epoch < 0 ? [] : [{ epoch, start: position }];
  }

  /** From `position` on these were read, and `epoch` is that of the last batch, which may be one without records. */
  follow(position: number, records: readonly BrokerRecord[], epoch: number): void {
    const first = records[0];
    let next = position;
    // Batches have one epoch, and rarely another than the one before.
    if (first && (first.leaderEpoch !== this.last || records.at(-1)?.leaderEpoch !== this.last))
      for (const record of records) {
        this.#step(record.leaderEpoch, next);
        next = record.offset + 1;
      }
    this.#step(epoch, (records.at(-1)?.offset ?? position - 1) + 1);
  }

  /** The position is an earlier one. */
  cutTo(position: number): void {
    this.#steps = this.#steps.filter(({ start }) => start <= position);
  }

  /** The last epoch up to that one that wrote something we read; -1 where none did, as far as we know. */
  lastUpTo(epoch: number): number {
    return this.#steps.findLast((step) => step.epoch <= epoch)?.epoch ?? -1;
  }

  /** Up to where the leader's log is ours, if its part up to `epoch` ends at `end`. */
  agreedEnd(epoch: number, end: number): number {
    const foreign = this.#steps.find((step) => step.epoch > epoch);
    return foreign ? Math.min(end, foreign.start) : end;
  }

  #step(epoch: number, start: number): void {
    if (epoch < 0 || epoch === this.last) return;
    this.#steps.push({ epoch, start });
    if (this.#steps.length > STEPS_KEPT) this.#steps.shift();
  }
}
