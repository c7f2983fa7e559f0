import { normaliseEventType } from '../decorators/event-type.js';
import type { HandlerDefinition } from './handler-definition.js';

type HandlerClaim = Pick<HandlerDefinition, 'binding' | 'cluster' | 'type' | 'form' | 'origin'>;

interface BindingClaim {
  readonly binding: string | undefined;
  readonly cluster: string | undefined;
}

/**
 * Reports handlers of one binding that exclude each other: two for the same event type, or record
 * and batch handlers.
 */
export function handlerConflicts(handlers: readonly HandlerClaim[]): readonly string[] {
  const conflicts = groupByBinding(handlers).flatMap((claims) => [
    ...duplicateClaims(claims),
    ...mixedForms(claims),
  ]);
  return [...new Set(conflicts)];
}

/**
 * Groups by binding and cluster. A claim without a cluster applies to the binding on every cluster,
 * so it is added to each group.
 */
export function groupByBinding<T extends BindingClaim>(
  claims: readonly T[],
): readonly (readonly T[])[] {
  return groupBy(claims, ({ binding }) => binding).flatMap((ofBinding) => {
    const clusters = new Set(ofBinding.flatMap(({ cluster }) => cluster ?? []));
    if (clusters.size === 0) return [ofBinding];
    return [...clusters].map((each) =>
      ofBinding.filter(({ cluster }) => (cluster ?? each) === each),
    );
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

function duplicateClaims(claims: readonly HandlerClaim[]): readonly string[] {
  return groupBy(claims, ({ type }) => type && normaliseEventType(type))
    .filter((group) => group.length > 1)
    .map((group) => {
      const { binding, type } = group[0]!;
      const what = type === undefined ? 'all other types' : `type '${type}'`;
      return `Binding '${binding}' has ${group.length} handlers for ${what}: ${origins(group)}. A record goes to one handler: remove all but one, or give each its own type.`;
    });
}

function mixedForms(claims: readonly HandlerClaim[]): readonly string[] {
  if (new Set(claims.map(({ form }) => form)).size < 2) return [];
  return [
    `Binding '${claims[0]!.binding}' has handlers of records and of batches: ${origins(claims)}. Use either @EventHandler or @EventHandler.Batch for all of them.`,
  ];
}

function origins(claims: readonly HandlerClaim[]): string {
  return claims.map(({ origin }) => origin).join(', ');
}
