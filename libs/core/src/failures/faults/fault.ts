import type { Thrown } from './thrown.js';

/**
 * The cause of a failure.
 * - `message`: the message is bad, and no call can ever help.
 * - `dependency`: a dependency of the handler is down, slow, full or locked. The message is fine.
 * - `unknown`: a bug, or an error that no rule knows.
 */
export type Fault = 'message' | 'dependency' | 'unknown';

/** Recognises one kind of failure. Rules are data: the first match decides. */
export interface FaultRule {
  /** Appears in logs and tests. */
  readonly name: string;
  readonly fault: Fault;
  /** The failure will last, so the next attempt should wait longer than a first retry does. */
  readonly isExtended?: true;
  /** A cause with this fault overrides the rule. */
  readonly yieldsTo?: Fault;
  /** A rule that throws does not match. */
  readonly matches: (thrown: Thrown) => boolean;
}
