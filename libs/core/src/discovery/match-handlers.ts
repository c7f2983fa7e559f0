import type { HandlerDefinition } from './handler-definition.js';
import { nearestName } from '../model/nearest-name.js';

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
  const misfits = handlers.flatMap((handler) => misfit(bindings, handler));
  if (bindingsWithoutHandler === 'allow') return misfits;
  const idle = bindings.filter((binding) => handlersOf(binding, handlers).length === 0);
  return [
    ...misfits,
    ...idle.map(
      ({ name }) =>
        `Binding '${name}' has no handler. Write a method with @EventHandler('${name}') in a provider or controller, or take the binding out; where it is only published to, set bindingsWithoutHandler: 'allow'.`,
    ),
  ];
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

function misfit(bindings: readonly KnownBinding[], handler: Wanted): readonly string[] {
  const named = bindings.filter(({ name }) => name === handler.binding);
  const meant = named.filter(({ cluster }) => (handler.cluster ?? cluster) === cluster);
  if (named.length === 0) return [unknownBinding(bindings, handler)];
  if (meant.length === 0) return [unknownCluster(named, handler)];
  if (meant.length > 1) return [severalClusters(meant, handler)];
  return [];
}

function unknownBinding(bindings: readonly KnownBinding[], { binding, origin }: Wanted): string {
  const names = [...new Set(bindings.map(({ name }) => name))];
  const nearest = nearestName(binding, names);
  const known = names.length === 0 ? 'None is configured.' : `Configured are: ${names.join(', ')}.`;
  const hint = nearest === undefined ? known : `Did you mean '${nearest}'?`;
  return `${origin} handles binding '${binding}', which is not configured. ${hint}`;
}

function unknownCluster(named: readonly KnownBinding[], handler: Wanted): string {
  return `${handler.origin} handles binding '${handler.binding}' of cluster '${handler.cluster}', but it is on ${clusters(named)}.`;
}

function severalClusters(meant: readonly KnownBinding[], handler: Wanted): string {
  return `${handler.origin} handles binding '${handler.binding}', which is on ${clusters(meant)}. Name one: { cluster: '${meant[0]!.cluster}' }.`;
}

function clusters(bindings: readonly KnownBinding[]): string {
  return bindings.map(({ cluster }) => `'${cluster}'`).join(' and ');
}
