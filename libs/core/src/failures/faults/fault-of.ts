import type { Fault, FaultRule } from './fault.js';
import { FAULT_RULES } from './fault-rules.js';
import { causesOf, isObject, readList, readThrown, type Thrown } from './thrown.js';

/** Limits for nested errors, beyond any intended use. Deeper causes are ignored. */
const MOST_NESTED = 8;
const MOST_ERRORS = 64;

/** Says what caused an error: the message, a dependency, or something unknown. Never throws, whatever it is given. */
export function faultOf(thrown: unknown): Fault {
  return ruleFor(thrown)?.fault ?? 'unknown';
}

/**
 * The rule that matches an error; undefined if none does. The error itself is checked before its
 * cause, so that an application that wraps an error decides.
 */
export function ruleFor(thrown: unknown): FaultRule | undefined {
  return ruleAt(thrown, new Set(), 0);
}

function ruleAt(thrown: unknown, seen: Set<object>, depth: number): FaultRule | undefined {
  if (!isObject(thrown) || depth > MOST_NESTED || seen.has(thrown) || seen.size >= MOST_ERRORS)
    return undefined;
  seen.add(thrown);
  const facts = readThrown(thrown);
  const rule = FAULT_RULES.find((each) => matches(each, facts));
  if (rule && rule.yieldsTo === undefined) return rule;
  const inner = ruleForCauses(facts, seen, depth + 1);
  return rule && inner?.fault !== rule.yieldsTo ? rule : inner;
}

function ruleForCauses(thrown: Thrown, seen: Set<object>, depth: number): FaultRule | undefined {
  for (const cause of causesOf(thrown.value)) {
    const rule = ruleAt(cause, seen, depth);
    if (rule) return rule;
  }
  return thrown.names.has('AggregateError') ? ruleForAll(thrown, seen, depth) : undefined;
}

/**
 * Decides about several errors at once. One error of a dependency is enough, because that error may
 * pass. The message is to blame only if every error says so, because that is final.
 */
function ruleForAll({ value }: Thrown, seen: Set<object>, depth: number): FaultRule | undefined {
  const rules = readList(value, 'errors').map((error) => ruleAt(error, seen, depth));
  const testBed = rules.find((rule) => rule?.fault === 'dependency');
  const isMessage = rules.every((rule) => rule?.fault === 'message');
  return testBed ?? (isMessage ? rules[0] : undefined);
}

function matches(rule: FaultRule, thrown: Thrown): boolean {
  try {
    return rule.matches(thrown);
  } catch {
    // An error that cannot be read matches no rule.
    return false;
  }
}
