import { isDeepStrictEqual } from 'node:util';
import type { HandlerLayer } from '../resolving/resolve-options.js';
import { below, Violations } from '../validation/violations.js';

/** Refuses handlers that set different values for the same option of their common binding. */
export function rejectConflictingHandlerOptions(
  handlers: readonly HandlerLayer[],
  violations: Violations,
): void {
  handlers.forEach((handler, index) => {
    const ownViolations = new Violations(handler.binding);
    const earlier = handlers.slice(0, index).filter(({ binding }) => binding === handler.binding);
    for (const [key, value] of Object.entries(handler.properties)) {
      const other = earlier.find((candidate) => setsOtherValue(candidate, key, value));
      if (!other) continue;
      const message = `is set to different values by ${other.source} and by ${handler.source}, which share the binding. Set it once, or in the options.`;
      ownViolations.add(
        'HANDLERS_DISAGREE',
        below(below('bindings', handler.binding), key),
        value,
        message,
      );
    }
    violations.include(ownViolations.all);
  });
}

function setsOtherValue({ properties }: HandlerLayer, key: string, value: unknown): boolean {
  const earlierValue = Object.hasOwn(properties, key)
    ? (properties as Readonly<Record<string, unknown>>)[key]
    : undefined;
  return (
    earlierValue !== undefined && value !== undefined && !isDeepStrictEqual(earlierValue, value)
  );
}
