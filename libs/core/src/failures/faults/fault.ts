import type { Thrown } from './thrown.js';

/**
 * Whose fault a failure is.
 * - `message`: it is bad, and no call can ever help.
 * - `world`: what the handler needs is down, slow, full or locked. The message is as good as any.
 * - `unknown`: nobody can tell; a bug, or something nobody has heard of.
 */
export type Fault = 'message' | 'dependency' | 'unknown';

/** How one kind of failure is recognised. Rules are data: the first that holds decides. */
export interface FaultRule {
  /** For logs and tests. */
  readonly name: string;
  readonly fault: Fault;
  /** It is going to last: the next try should wait longer than a first retry does. */
  readonly isExtended?: true;
  /** A cause with this fault says more than the rule does. */
  readonly yieldsTo?: Fault;
  /** May throw: it then does not hold. */
  readonly matches: (thrown: Thrown) => boolean;
}
