import type { Thrown } from './thrown.js';

/**
 * The cause of a failure.
 * - `message`: the message is bad, and no call can ever help.
 * - `dependency`: a dependency of the handler is down, slow, full or locked. The message is fine.
 * - `unknown`: a bug, or an error that no rule knows.
 */
export type Fault = 'message' | 'dependency' | 'unknown';

/** Recognises one kind of failure. The first rule that matches decides. */
export interface FaultRule {
  /** Appears in logs and tests. */
  readonly name: string;
  readonly fault: Fault;
  /**
   * True if the failure will last, so that the next attempt should wait longer than the first retry
   * does.
   */
  readonly isExtended?: true;
  /** Fault of a cause that overrides this rule. */
  readonly yieldsTo?: Fault;
  /** Returns whether the rule matches. A rule that throws does not match. */
  readonly matches: (thrown: Thrown) => boolean;
}
