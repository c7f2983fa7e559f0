import { Refusal } from '../faults/refusal.js';
import type { StoredBatch } from './stored-batch.js';

/** The properties of an accepted batch, to answer a repeated request. */
export interface AcceptedBatch {
  readonly firstSequence: number;
  readonly lastSequence: number;
  readonly baseOffset: number;
  readonly timestamp: number;
}

interface ProducerState {
  epoch: number;
  recent: AcceptedBatch[];
}

/**
 * The number of batches that a broker remembers per producer; an older repeated batch is out of
 * order.
 */
const MAX_RECENT_BATCHES = 5;
const SEQUENCES = 2 ** 31;

export function lastSequenceOf({ baseSequence, recordCount }: StoredBatch): number {
  return (baseSequence + recordCount - 1) % SEQUENCES;
}

/** States of the idempotent producers that write to one partition. */
export class ProducerStates {
  readonly #producers = new Map<number, ProducerState>();

  /**
   * Returns the accepted batch that this one repeats, if any. Refuses a fenced producer and a gap.
   */
  check(batch: StoredBatch): AcceptedBatch | undefined {
    const known = this.#producers.get(batch.producerId);
    if (batch.producerId < 0 || !known) return undefined;
    if (batch.producerEpoch < known.epoch)
      throw new Refusal(
        'INVALID_PRODUCER_EPOCH',
        `producer ${batch.producerId} is now at epoch ${known.epoch}`,
      );
    if (batch.producerEpoch > known.epoch) return this.#startOfEpoch(batch);
    const last = lastSequenceOf(batch);
    const repeated = known.recent.find(
      ({ firstSequence, lastSequence }) =>
        firstSequence === batch.baseSequence && lastSequence === last,
    );
    if (repeated) return repeated;
    const expected = nextSequence(known);
    if (expected !== undefined && batch.baseSequence !== expected)
      throw outOfOrder(batch, expected);
    return undefined;
  }

  accept(batch: StoredBatch, baseOffset: number, timestamp: number): void {
    if (batch.producerId < 0) return;
    const state = this.#stateFor(batch.producerId, batch.producerEpoch);
    state.recent = [
      ...state.recent.slice(1 - MAX_RECENT_BATCHES),
      {
        firstSequence: batch.baseSequence,
        lastSequence: lastSequenceOf(batch),
        baseOffset,
        timestamp,
      },
    ];
  }

  /** Sets the epoch of a marker, which is valid from now on: an older epoch is fenced. */
  raiseEpoch(producerId: number, epoch: number): void {
    this.#stateFor(producerId, epoch);
  }

  #startOfEpoch(batch: StoredBatch): undefined {
    if (batch.baseSequence !== 0) throw outOfOrder(batch, 0);
    return undefined;
  }

  #stateFor(producerId: number, epoch: number): ProducerState {
    const known = this.#producers.get(producerId);
    if (known && known.epoch >= epoch) return known;
    const state = { epoch, recent: [] };
    this.#producers.set(producerId, state);
    return state;
  }
}

function nextSequence({ recent }: ProducerState): number | undefined {
  const last = recent.at(-1);
  return last === undefined ? undefined : (last.lastSequence + 1) % SEQUENCES;
}

function outOfOrder(batch: StoredBatch, expected: number): Refusal {
  return new Refusal(
    'OUT_OF_ORDER_SEQUENCE_NUMBER',
    `producer ${batch.producerId} sent sequence ${batch.baseSequence} where ${expected} follows`,
  );
}
