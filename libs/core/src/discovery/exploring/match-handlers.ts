import type { DltHandlerDefinition } from './dlt-handler-definition.js';
import type { HandlerDefinition } from './handler-definition.js';
import { nearestName } from '../../model/nearest-name.js';

/** A binding that is configured. */
export interface KnownBinding {
  readonly name: string;
  readonly cluster: string;
}

export interface MatchOptions {
  /** Whether a binding may have no handler. Default `'fail'`. */
  readonly bindingsWithoutHandler?: 'fail' | 'allow';
}

type Wanted = Pick<HandlerDefinition, 'binding' | 'cluster' | 'origin'>;

/** What does not fit between the bindings that are configured and the handlers that were found. */
export function matchHandlers(
  bindings: readonly KnownBinding[],
  handlers: readonly Wanted[],
  { bindingsWithoutHandler = 'fail' }: MatchOptions = {},
): readonly string[] {
  const unmatchedHandlers = handlers.flatMap((handler) => unmatchedReason(bindings, handler));
  if (bindingsWithoutHandler === 'allow') return unmatchedHandlers;
  const idle = bindings.filter((binding) => handlersOf(binding, handlers).length === 0);
  return [
    ...unmatchedHandlers,
    ...idle.map(
      ({ name }) =>
        `Binding '${name}' has no handler. Write a method with @EventHandler('${name}') in a provider or controller, or take the binding out; where it is only published to, set bindingsWithoutHandler: 'allow'.`,
    ),
  ];
}

/** The same for what is for dead letters. One that names a cluster as well may be for a binding that is registered later. */
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
          `${origin} is for dead letters of binding '${binding}', ${notConfigured(binding, names)} One that is registered later is named with its cluster: { cluster: 'default' }.`,
        ]),
    ...(cluster === undefined || aliases.includes(cluster)
      ? []
      : [
          `${origin} is for dead letters of cluster '${cluster}', ${notConfigured(cluster, aliases)}`,
        ]),
  ]);
}

/** Whether the dead letters of this binding are meant. */
export function appliesTo({
  name,
  cluster,
}: KnownBinding): (found: DltHandlerDefinition) => boolean {
  return (found) => (found.binding ?? name) === name && (found.cluster ?? cluster) === cluster;
}

/** The handlers that a binding gets its records handled by. */
export function handlersOf<T extends Pick<HandlerDefinition, 'binding' | 'cluster'>>(
  { name, cluster }: KnownBinding,
  handlers: readonly T[],
): readonly T[] {
  return handlers.filter(
    (handler) => handler.binding === name && (handler.cluster ?? cluster) === cluster,
  );
}

function unmatchedReason(bindings: readonly KnownBinding[], handler: Wanted): readonly string[] {
  const named = bindings.filter(({ name }) => name === handler.binding);
  const meant = named.filter(({ cluster }) => (handler.cluster ?? cluster) === cluster);
  if (named.length === 0) return [unknownBinding(bindings, handler)];
  if (meant.length === 0) return [unknownCluster(named, handler)];
  return [];
}

function unknownBinding(bindings: readonly KnownBinding[], { binding, origin }: Wanted): string {
  const names = [...new Set(bindings.map(({ name }) => name))];
  return `${origin} handles binding '${binding}', ${notConfigured(binding, names)}`;
}

function notConfigured(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  const all = known.length === 0 ? 'None is configured.' : `Configured are: ${known.join(', ')}.`;
  return `which is not configured. ${nearest === undefined ? all : `Did you mean '${nearest}'?`}`;
}

function unknownCluster(named: readonly KnownBinding[], handler: Wanted): string {
  return `${handler.origin} handles binding '${handler.binding}' of cluster '${handler.cluster}', but it is on ${clusters(named)}.`;
}

function clusters(bindings: readonly KnownBinding[]): string {
  return bindings.map(({ cluster }) => `'${cluster}'`).join(' and ');
}
