import { errorReasonOf, type DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import { OngoingProblems } from '../problems/ongoing-problems.js';

const REMEDY = 'Records are not affected. Correct the listener, or let it only pass events on.';

/** Logs what goes wrong in a listener for events: at once, and then once a minute. */
export class ListenerProblems {
  readonly #problems: OngoingProblems;
  /** Number of problems of each kind since the listener was added. */
  readonly #times = new Map<string, number>();

  constructor(
    private readonly origin: string,
    runtime: Pick<Runtime, 'monotonic' | 'setTimer'>,
    logger: DriverLogger,
  ) {
    this.#problems = new OngoingProblems(runtime, logger);
  }

  threw(event: string, error: unknown): void {
    const reason = errorReasonOf(error);
    this.#report('failed', `with '${event}': ${reason}`, { event, reason });
  }

  hung(event: string, timeoutMs: number): void {
    this.#report('did not answer', `within ${timeoutMs / 1_000} s, with '${event}'`, { event });
  }

  dropped(): void {
    this.#report('missed an event', 'because too many wait for it', {});
  }

  /** Forgets everything, because the listener is not called any more. */
  close(): void {
    this.#problems.clear();
  }

  #report(what: string, details: string, context: Readonly<Record<string, unknown>>): void {
    const { origin } = this;
    const times = (this.#times.get(what) ?? 0) + 1;
    this.#times.set(what, times);
    this.#problems.report({
      key: what,
      message: `A listener for events, ${origin}, ${what} ${details}. ${REMEDY}`,
      ended: `For a minute, the listener for events ${origin} had no such problem. In all, it ${what} ${times} times.`,
      context: { origin, total: times, ...context },
    });
  }
}
