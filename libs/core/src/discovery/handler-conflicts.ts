import { normaliseEventType } from './event-type.js';
import type { HandlerDefinition } from './handler-definition.js';

type Claim = Pick<HandlerDefinition, 'binding' | 'cluster' | 'type' | 'form' | 'origin'>;

/** Handlers of one binding that cannot work side by side. */
export function handlerConflicts(handlers: readonly Claim[]): readonly string[] {
  const bindings = groupBy(handlers, ({ binding, cluster }) => JSON.stringify([cluster, binding]));
  return bindings.flatMap((claims) => [...rivals(claims), ...mixedForms(claims)]);
}

export function groupBy<T>(
  items: readonly T[],
  keyOf: (item: T) => unknown,
): readonly (readonly T[])[] {
  const groups = new Map<unknown, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return [...groups.values()];
}

function rivals(claims: readonly Claim[]): readonly string[] {
  return groupBy(claims, ({ type }) => type && normaliseEventType(type))
    .filter((group) => group.length > 1)
    .map((group) => {
      const { binding, type } = group[0]!;
      const what = type === undefined ? 'all other types' : `type '${type}'`;
      return `Binding '${binding}' has ${group.length} handlers for ${what}: ${origins(group)}. A record goes to one handler; leave one, or give each a type of its own.`;
    });
}

function mixedForms(claims: readonly Claim[]): readonly string[] {
  if (new Set(claims.map(({ form }) => form)).size < 2) return [];
  return [
    `Binding '${claims[0]!.binding}' has handlers of records and of batches: ${origins(claims)}. Use either @EventHandler or @EventHandler.Batch for all of them.`,
  ];
}

function origins(claims: readonly Claim[]): string {
  return claims.map(({ origin }) => origin).join(', ');
}
