import type { Fault, FaultRule } from './fault.js';
import { FAULT_RULES } from './fault-rules.js';
import { causesOf, isObject, readList, readThrown, type Thrown } from './thrown.js';

/** Deeper and wider than anybody wraps errors on purpose. Beyond it nothing is known. */
const DEEPEST = 8;
const MOST = 64;

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
  if (!isObject(thrown) || depth > DEEPEST || seen.has(thrown) || seen.size >= MOST)
    return undefined;
  seen.add(thrown);
  const facts = readThrown(thrown);
  const rule = FAULT_RULES.find((each) => holds(each, facts));
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
  const world = rules.find((rule) => rule?.fault === 'world');
  const isMessage = rules.every((rule) => rule?.fault === 'message');
  return world ?? (isMessage ? rules[0] : undefined);
}

function holds(rule: FaultRule, thrown: Thrown): boolean {
  try {
    return rule.holds(thrown);
  } catch {
    // Only an error that cannot be looked at gets here, and of such a one nothing is known.
    return false;
  }
}
