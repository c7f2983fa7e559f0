import type { Fault } from './fault.js';

/** A thrown value, and the rule that must match it. */
export type FaultCase = readonly [what: string, thrown: unknown];

/** Cases by the name of the rule. */
export type FaultTable = Readonly<Record<string, readonly [Fault, readonly FaultCase[]]>>;
