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

/** The counts of a container over all its starts: they never go backwards when it is started again. */
export class AccumulatedCounts {
  #settled = NOTHING;
  #sessions: readonly Pick<ConsumingSession, 'counts'>[] = [];

  /** A session that was closed over a running handler is kept until that one has ended. */
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
