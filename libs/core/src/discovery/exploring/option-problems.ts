import type { DltDeclaration, DltRole } from '../decorators/dlt-decorators.js';
import type { EventHandlerOptions } from '../decorators/handler-options.js';

/** Checks at run time what the compiler checks, because JavaScript and casts get past the compiler. */
export function optionProblems(
  binding: unknown,
  { type, payload, filter }: { readonly [K in keyof EventHandlerOptions]: unknown },
): readonly string[] {
  const problems: string[] = [];
  if (!isName(binding)) problems.push('it names no binding.');
  if (type !== undefined && !isName(type)) problems.push('its type is not a name.');
  if (filter !== undefined && typeof filter !== 'function') {
    problems.push('its filter is not a function.');
  }
  if (payload !== undefined && !isPayloadType(payload)) {
    problems.push('its payload is neither a class nor a Standard Schema.');
  }
  return problems;
}

/** Checks `@DltHandler`, which needs a binding, and `@DltAlert`, which may be for all bindings. */
export function dltProblems(
  role: DltRole,
  { binding, cluster }: { readonly [K in keyof DltDeclaration]: unknown },
): readonly string[] {
  const isOfAll = role === 'alert' && binding === undefined;
  return [
    ...(isOfAll || isName(binding) ? [] : ['it names no binding.']),
    ...(cluster === undefined || isName(cluster) ? [] : ['its cluster is not a name.']),
  ];
}

export function isName(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function isPayloadType(value: unknown): boolean {
  return (
    typeof value === 'function' ||
    (typeof value === 'object' && value !== null && '~standard' in value)
  );
}
