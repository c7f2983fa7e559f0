import type { RecordCounts, ConsumingSession } from '../../consuming/session/consuming-session.js';

const NOTHING: RecordCounts = {
  received: 0,
  succeeded: 0,
  discarded: 0,
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

/** Counts of a container over all its starts, so that they never go backwards. */
export class AccumulatedCounts {
  #settled = NOTHING;
  #sessions: readonly Pick<ConsumingSession, 'counts'>[] = [];

  /**
   * Adds the sessions of a new start. An earlier session is kept while one of its handlers runs.
   */
  addSessions(sessions: readonly Pick<ConsumingSession, 'counts'>[]): void {
    const settled = this.#sessions.filter(({ counts }) => counts.inFlight === 0);
    const running = this.#sessions.filter((session) => !settled.includes(session));
    this.#settled = sumOfCounts([this.#settled, ...settled.map(({ counts }) => counts)]);
    this.#sessions = [...running, ...sessions];
  }

  get counts(): RecordCounts {
    return sumOfCounts([this.#settled, ...this.#sessions.map(({ counts }) => counts)]);
  }
}
