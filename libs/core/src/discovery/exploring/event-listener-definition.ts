import { EVENT_BUS_EVENT_NAMES, type EventBusEvent } from '../../model/events/event-bus-events.js';
import { suggestion } from '../../model/nearest-name.js';
import type { EventListenerDeclaration } from '../decorators/on-event-bus.js';
import { isName } from './option-problems.js';

/** A discovered method that takes events. */
export interface EventListenerDefinition extends EventListenerDeclaration {
  readonly origin: string;
  readonly handle: (event: EventBusEvent) => unknown;
}

/** Checks at run time what the compiler checks, because JavaScript bypasses the compiler. */
export function eventListenerProblems({
  names,
  binding,
  cluster,
}: { readonly [K in keyof EventListenerDeclaration]: unknown }): readonly string[] {
  const given = Array.isArray(names) ? (names as readonly unknown[]) : [];
  const known: readonly unknown[] = EVENT_BUS_EVENT_NAMES;
  return [
    ...(given.length > 0 ? [] : ['it names no event. Give it the name of one.']),
    ...given
      .filter((name) => !known.includes(name))
      .map((name) => `there is no event '${String(name)}'. ${nearestEvent(String(name))}`),
    ...(binding === undefined || isName(binding)
      ? []
      : ['its binding is not a name. Give it the name of one, or leave it out.']),
    ...(cluster === undefined || isName(cluster)
      ? []
      : ['its cluster is not a name. Give it the alias of a cluster, or leave it out.']),
  ];
}

/** Returns whether the listener wants the event of this binding. */
export function isMeant(
  { binding, cluster }: Pick<EventListenerDeclaration, 'binding' | 'cluster'>,
  event: EventBusEvent,
): boolean {
  return (
    (binding ?? event.binding) === event.binding && (cluster ?? event.cluster) === event.cluster
  );
}

const nearestEvent = (name: string): string => suggestion(name, EVENT_BUS_EVENT_NAMES);
