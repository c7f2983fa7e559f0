import type { DriverLogger } from '@nest-event-bus/broker';
import type { Runtime, Timer } from '@nest-event-bus/broker/runtime';

/** A problem that lasts until something changes outside the bus. */
export interface Problem {
  /** Identifies the problem within its binding. The number of keys must be limited. */
  readonly key: string;
  /** Says what happened, to which binding, and what to do. Never quotes a record. */
  readonly message: string;
  /** Says that the problem has ended. */
  readonly ended: string;
  /** Used instead of `ended` if the reports have stopped and `end` was not called. Default `ended`. */
  readonly endedReports?: string;
  readonly context?: Readonly<Record<string, unknown>>;
  /** Default `'warn'`. */
  readonly level?: 'warn' | 'error';
  /** Text for health. Omitted if health knows the problem from another source. */
  readonly reason?: string;
  /**
   * Time without another report after which the problem has ended. Default one minute. `Infinity`
   * if only `end` ends the problem.
   */
  readonly quietMs?: number;
  /** Time for which the problem has to last before it is logged. Default 0. */
  readonly graceMs?: number;
}

/** Text of a problem for health. */
export interface ProblemReason {
  readonly key: string;
  readonly reason: string;
}

interface OngoingProblem {
  problem: Problem;
  timer: Timer;
  isTold: boolean;
  readonly since: number;
  lastSeen: number;
  /** Reports since the last log line. */
  times: number;
}

/** Interval at which a problem that lasts is logged again. */
const REPEAT_MS = 60_000;

/**
 * Logs problems that last: at once, then at most once a minute, and once more when they have ended.
 * Nothing is kept and no timer runs while there is no problem.
 */
export class OngoingProblems {
  readonly #ongoing = new Map<string, OngoingProblem>();

  constructor(
    private readonly runtime: Pick<Runtime, 'monotonic' | 'setTimer'>,
    private readonly logger: DriverLogger,
  ) {}

  /** Problems with a text for health. */
  get all(): readonly ProblemReason[] {
    return [...this.#ongoing.values()].flatMap(({ problem: { key, reason }, isTold }) =>
      isTold && reason !== undefined ? [{ key, reason }] : [],
    );
  }

  /** Reports that the problem has occurred, or that it lasts. May be called for each record. */
  report(problem: Problem): void {
    const known = this.#ongoing.get(problem.key);
    if (!known) return this.#begin(problem);
    known.problem = problem;
    known.lastSeen = this.runtime.monotonic();
    known.times++;
  }

  /**
   * Ends the problem with this key. Does nothing if there is no such problem. The message replaces
   * `ended` of the problem.
   */
  end(key: string, message?: string): void {
    const ongoing = this.#ongoing.get(key);
    if (ongoing) this.#end(ongoing, message ?? ongoing.problem.ended);
  }

  /** Forgets all problems without a log line, because nobody watches them any more. */
  clear(): void {
    for (const { timer } of this.#ongoing.values()) timer.cancel();
    this.#ongoing.clear();
  }

  #begin(problem: Problem): void {
    const now = this.runtime.monotonic();
    const { key, graceMs = 0 } = problem;
    const ongoing: OngoingProblem = {
      problem,
      timer: this.#schedule(key, graceMs > 0 ? graceMs : REPEAT_MS),
      isTold: false,
      since: now,
      lastSeen: now,
      times: 1,
    };
    this.#ongoing.set(key, ongoing);
    if (graceMs <= 0) this.#tell(ongoing);
  }

  #end(ongoing: OngoingProblem, message: string): void {
    const { key, context } = ongoing.problem;
    ongoing.timer.cancel();
    this.#ongoing.delete(key);
    if (ongoing.isTold) this.logger.info(message, { ...context, afterMs: this.#ageOf(ongoing) });
  }

  #schedule(key: string, delayMs: number): Timer {
    return this.runtime.setTimer(() => this.#check(key), delayMs, { background: true });
  }

  #check(key: string): void {
    const ongoing = this.#ongoing.get(key);
    if (!ongoing) return;
    const { quietMs = REPEAT_MS, ended, endedReports = ended } = ongoing.problem;
    const isQuiet = this.runtime.monotonic() - ongoing.lastSeen >= quietMs;
    if (isQuiet) return this.#end(ongoing, endedReports);
    ongoing.timer = this.#schedule(key, REPEAT_MS);
    if (ongoing.times > 0 || quietMs === Infinity) this.#tell(ongoing);
  }

  #tell(ongoing: OngoingProblem): void {
    const { message, context, level = 'warn' } = ongoing.problem;
    const forMs = this.#ageOf(ongoing);
    const { isTold, times } = ongoing;
    const repetition = isTold && { forMs, ...(times > 0 && { times }) };
    ongoing.isTold = true;
    ongoing.times = 0;
    this.logger[level](message, { ...context, ...repetition });
  }

  #ageOf({ since }: OngoingProblem): number {
    return Math.round(this.runtime.monotonic() - since);
  }
}
