import { normaliseEventType } from '../decorators/event-type.js';
import type { HandlerDefinition } from './handler-definition.js';

type Claim = Pick<HandlerDefinition, 'binding' | 'cluster' | 'type' | 'form' | 'origin'>;

interface ClusterClaim {
  readonly binding: string | undefined;
  readonly cluster: string | undefined;
}

/** Handlers of one binding that cannot work side by side. */
export function handlerConflicts(handlers: readonly Claim[]): readonly string[] {
  const found = groupByBinding(handlers).flatMap((claims) => [
    ...duplicateClaims(claims),
    ...mixedForms(claims),
  ]);
  return [...new Set(found)];
}

/** What names no cluster means its binding wherever that is: it stands beside what names one. */
export function groupByBinding<T extends ClusterClaim>(
  claims: readonly T[],
): readonly (readonly T[])[] {
  return groupBy(claims, ({ binding }) => binding).flatMap((named) => {
    const clusters = new Set(named.flatMap(({ cluster }) => cluster ?? []));
    if (clusters.size === 0) return [named];
    return [...clusters].map((each) => named.filter(({ cluster }) => (cluster ?? each) === each));
  });
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

function duplicateClaims(claims: readonly Claim[]): readonly string[] {
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
