import type { Fault } from './fault.js';

/** What was thrown, and the rule that is to recognise it. */
export type FaultCase = readonly [what: string, thrown: unknown];

/** By the name of the rule. */
export type FaultTable = Readonly<Record<string, readonly [Fault, readonly FaultCase[]]>>;
