import type { Fault, FaultRule } from './fault.js';
import { FAULT_RULES } from './fault-rules.js';
import { causesOf, isObject, readList, readThrown, type Thrown } from './thrown.js';

/** Deeper and wider than anybody wraps errors on purpose. Beyond it nothing is known. */
const MOST_NESTED = 8;
const MOST_ERRORS = 64;

/** Whose fault it is that something was thrown. Never throws itself, whatever it is given. */
export function faultOf(thrown: unknown): Fault {
  return ruleFor(thrown)?.fault ?? 'unknown';
}

/**
 * The rule that says so; undefined where none does. What was thrown speaks before its cause: who
 * wraps an error in one of his own decides.
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
 * Of several failures at once: the world's where one is, since that one may pass; the message's
 * only where all are, since that is for ever.
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
    // Only an error that cannot be looked at gets here, and of such a one nothing is known.
    return false;
  }
}
