import { errorReasonOf } from '../../port/error-text.js';
import type { DriverLogger } from '../../port/driver.js';
import type { Runtime } from '../../runtime/index.js';

/** Interval at which the same failure is logged again. */
const REPEAT_MS = 60_000;

/**
 * Logs a failure that is retried: at once if its error is new, and then at most once a minute. A
 * retry that fails for hours would otherwise write a line per attempt.
 */
export class RepeatedFailureLog {
  #error: string | undefined;
  #loggedAt = -Infinity;

  constructor(
    private readonly runtime: Pick<Runtime, 'monotonic'>,
    private readonly logger: DriverLogger,
  ) {}

  debug(message: string, context: { readonly error: Error; readonly groupId?: string }): void {
    const now = this.runtime.monotonic();
    const error = errorReasonOf(context.error);
    if (error === this.#error && now - this.#loggedAt < REPEAT_MS) return;
    this.#error = error;
    this.#loggedAt = now;
    this.logger.debug(message, context);
  }
}
