import { isDeepStrictEqual } from 'node:util';
import type { HandlerLayer } from '../resolving/resolve-options.js';
import { below, Violations } from '../validation/violations.js';

/** Handlers of one binding share its settings. Where two say different things, neither can be right for both. */
export function rejectConflictingHandlerOptions(
  handlers: readonly HandlerLayer[],
  violations: Violations,
): void {
  handlers.forEach((handler, index) => {
    const found = new Violations(handler.binding);
    const earlier = handlers.slice(0, index).filter(({ binding }) => binding === handler.binding);
    for (const [key, value] of Object.entries(handler.properties)) {
      const other = earlier.find((one) => differs(one, key, value));
      if (!other) continue;
      const message = `is said differently by ${other.source} and by ${handler.source}, which share the binding. Say it once, or in the options.`;
      found.add(
        'HANDLERS_DISAGREE',
        below(below('bindings', handler.binding), key),
        value,
        message,
      );
    }
    violations.include(found.all);
  });
}

function differs({ properties }: HandlerLayer, key: string, value: unknown): boolean {
  const describeSource = Object.hasOwn(properties, key)
    ? (properties as Readonly<Record<string, unknown>>)[key]
    : undefined;
  return (
    describeSource !== undefined && value !== undefined && !isDeepStrictEqual(describeSource, value)
  );
}
