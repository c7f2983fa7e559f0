import { DUPLICATE, type Outcome } from '../../model/outcomes/outcome.js';
import type { RecordCounts } from './consuming-session.js';

/**
 * Counts the outcomes of received records. At any moment, each received record is in exactly one of
 * the other counters.
 */
export class RecordCounters {
  #received = 0;
  #inFlight = 0;
  #handedBack = 0;
  #succeeded = 0;
  #discarded = 0;
  #duplicates = 0;
  #retried = 0;
  #deadLettered = 0;
  #failed = 0;
  #slicesCut = 0;
  #membershipsGivenUp = 0;

  get counts(): RecordCounts {
    return {
      received: this.#received,
      succeeded: this.#succeeded,
      discarded: this.#discarded,
      duplicates: this.#duplicates,
      retried: this.#retried,
      deadLettered: this.#deadLettered,
      failed: this.#failed,
      handedBack: this.#handedBack,
      inFlight: this.#inFlight,
      slicesCut: this.#slicesCut,
      membershipsGivenUp: this.#membershipsGivenUp,
    };
  }

  received(): void {
    this.#received++;
    this.#inFlight++;
  }

  /** Counts records that were handed back before they reached a handler. */
  dropped(records: number): void {
    this.#inFlight -= records;
    this.#handedBack += records;
  }

  sliceCut(): void {
    this.#slicesCut++;
  }

  membershipGivenUp(): void {
    this.#membershipsGivenUp++;
  }

  settled(outcome: Outcome): void {
    this.#inFlight--;
    switch (outcome.kind) {
      case 'succeeded':
        this.#succeeded++;
        return;
      case 'discarded':
        this.#discarded++;
        if (outcome.reason === DUPLICATE) this.#duplicates++;
        return;
      case 'retried':
        this.#retried++;
        return;
      case 'dead-lettered':
        this.#deadLettered++;
        return;
      case 'failed':
        this.#failed++;
        return;
      case 'handed-back':
        this.#handedBack++;
        return;
    }
  }
}
