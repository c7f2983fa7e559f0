import type { RecordCounts, ConsumingSession } from '../../consuming/session/consuming-session.js';

const NOTHING: RecordCounts = {
  received: 0,
  succeeded: 0,
  discarded: 0,
  duplicates: 0,
  retried: 0,
  deadLettered: 0,
  failed: 0,
  handedBack: 0,
  inFlight: 0,
  slicesCut: 0,
  membershipsGivenUp: 0,
};

export function sumOfCounts(all: readonly RecordCounts[]): RecordCounts {
  return all.reduce(
    (sum, one) => ({
      received: sum.received + one.received,
      succeeded: sum.succeeded + one.succeeded,
      discarded: sum.discarded + one.discarded,
      duplicates: sum.duplicates + one.duplicates,
      retried: sum.retried + one.retried,
      deadLettered: sum.deadLettered + one.deadLettered,
      failed: sum.failed + one.failed,
      handedBack: sum.handedBack + one.handedBack,
      inFlight: sum.inFlight + one.inFlight,
      slicesCut: sum.slicesCut + one.slicesCut,
      membershipsGivenUp: sum.membershipsGivenUp + one.membershipsGivenUp,
    }),
    NOTHING,
  );
}

type CountedSession = Pick<ConsumingSession, 'counts' | 'bufferedBytes'>;

/** Counts of a container over all its starts, so that they never go backwards. */
export class AccumulatedCounts {
  #settled = NOTHING;
  #sessions: readonly CountedSession[] = [];

  /**
   * Adds the sessions of a new start. An earlier session is kept while one of its handlers runs.
   */
  addSessions(sessions: readonly CountedSession[]): void {
    const settled = this.#sessions.filter(({ counts }) => counts.inFlight === 0);
    const running = this.#sessions.filter((session) => !settled.includes(session));
    this.#settled = sumOfCounts([this.#settled, ...settled.map(({ counts }) => counts)]);
    this.#sessions = [...running, ...sessions];
  }

  get bufferedBytes(): number {
    return this.#sessions.reduce((sum, { bufferedBytes }) => sum + bufferedBytes, 0);
  }

  get counts(): RecordCounts {
    return sumOfCounts([this.#settled, ...this.#sessions.map(({ counts }) => counts)]);
  }
}
