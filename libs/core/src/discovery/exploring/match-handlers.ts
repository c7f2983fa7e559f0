import type { DltHandlerDefinition } from './dlt-handler-definition.js';
import type { HandlerDefinition } from './handler-definition.js';
import { nearestName } from '../../model/nearest-name.js';

/** A configured binding. */
export interface KnownBinding {
  readonly name: string;
  readonly cluster: string;
}

export interface MatchOptions {
  /** Decides what happens to a binding without a handler. Default `'fail'`. */
  readonly bindingsWithoutHandler?: 'fail' | 'allow';
}

type HandlerTarget = Pick<HandlerDefinition, 'binding' | 'cluster' | 'origin'>;

/** Returns the mismatches between configured bindings and discovered handlers. */
export function matchHandlers(
  bindings: readonly KnownBinding[],
  handlers: readonly HandlerTarget[],
  { bindingsWithoutHandler = 'fail' }: MatchOptions = {},
): readonly string[] {
  const unmatchedHandlers = handlers.flatMap((handler) => unmatchedReason(bindings, handler));
  if (bindingsWithoutHandler === 'allow') return unmatchedHandlers;
  const withoutHandler = bindings.filter((binding) => handlersOf(binding, handlers).length === 0);
  return [
    ...unmatchedHandlers,
    ...withoutHandler.map(
      ({ name }) =>
        `Binding '${name}' has no handler. Write a method with @EventHandler('${name}') in a provider or controller, or remove the binding. If the application only publishes to it, set bindingsWithoutHandler: 'allow'.`,
    ),
  ];
}

/**
 * Returns the mismatches of dead-letter handlers. A handler that names a cluster may be for a
 * binding that is registered at run time.
 */
export function matchDltHandlers(
  bindings: readonly KnownBinding[],
  aliases: readonly string[],
  found: readonly DltHandlerDefinition[],
): readonly string[] {
  const names = [...new Set(bindings.map(({ name }) => name))];
  return found.flatMap(({ binding, cluster, origin }) => [
    ...(binding === undefined || cluster !== undefined || names.includes(binding)
      ? []
      : [
          `${origin} is for dead letters of binding '${binding}', ${notConfigured(binding, names)} For a binding that is registered at run time, name its cluster, too: { cluster: 'default' }.`,
        ]),
    ...(cluster === undefined || aliases.includes(cluster)
      ? []
      : [
          `${origin} is for dead letters of cluster '${cluster}', ${notConfigured(cluster, aliases)}`,
        ]),
  ]);
}

/** Returns a filter for the handlers that take the dead letters of this binding. */
export function appliesTo({
  name,
  cluster,
}: KnownBinding): (found: DltHandlerDefinition) => boolean {
  return (found) => (found.binding ?? name) === name && (found.cluster ?? cluster) === cluster;
}

/** Returns the handlers of a binding. */
export function handlersOf<T extends Pick<HandlerDefinition, 'binding' | 'cluster'>>(
  { name, cluster }: KnownBinding,
  handlers: readonly T[],
): readonly T[] {
  return handlers.filter(
    (handler) => handler.binding === name && (handler.cluster ?? cluster) === cluster,
  );
}

function unmatchedReason(
  bindings: readonly KnownBinding[],
  handler: HandlerTarget,
): readonly string[] {
  const sameName = bindings.filter(({ name }) => name === handler.binding);
  const matching = sameName.filter(({ cluster }) => (handler.cluster ?? cluster) === cluster);
  if (sameName.length === 0) return [unknownBinding(bindings, handler)];
  if (matching.length === 0) return [unknownCluster(sameName, handler)];
  return [];
}

function unknownBinding(
  bindings: readonly KnownBinding[],
  { binding, origin }: HandlerTarget,
): string {
  const names = [...new Set(bindings.map(({ name }) => name))];
  return `${origin} handles binding '${binding}', ${notConfigured(binding, names)}`;
}

function notConfigured(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  const all = known.length === 0 ? 'None is configured.' : `Configured are: ${known.join(', ')}.`;
  return `which is not configured. ${nearest === undefined ? all : `Did you mean '${nearest}'?`}`;
}

function unknownCluster(sameName: readonly KnownBinding[], handler: HandlerTarget): string {
  return `${handler.origin} handles binding '${handler.binding}' of cluster '${handler.cluster}', but it is on ${clusters(sameName)}.`;
}

function clusters(bindings: readonly KnownBinding[]): string {
  return bindings.map(({ cluster }) => `'${cluster}'`).join(' and ');
}
