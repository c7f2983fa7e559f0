import { groupBy, groupByBinding } from './handler-conflicts.js';
import type { DltHandlerDefinition } from './dlt-handler-definition.js';
import type { HandlerHost } from './handler-host.js';

interface Hosted {
  readonly host: HandlerHost;
}

export function firstOfEachClass<T extends Hosted>(inspections: readonly T[]): readonly T[] {
  return groupBy(inspections, ({ host }) => host.type).map(([first]) => first!);
}

/** Reports classes with several instances, because each instance would handle every record again. */
export function duplicateInstances(inspections: readonly Hosted[]): readonly string[] {
  return groupBy(inspections, ({ host }) => host.type)
    .filter((group) => group.length > 1)
    .map((group) => {
      const modules = group.map(({ host }) => host.module).join(' and in ');
      return `${group[0]!.host.type.name} has ${group.length} instances, in ${modules}: each would handle every record. Provide it in one module and export it from there.`;
    });
}

/**
 * Reports bindings with several @DltHandler methods, because only one can decide about a dead
 * letter. Several @DltAlert methods are allowed.
 */
export function duplicateDltHandlers(handlers: readonly DltHandlerDefinition[]): readonly string[] {
  return groupByBinding(handlers)
    .filter((group) => group.length > 1)
    .map(
      (group) =>
        `Binding '${group[0]!.binding}' has ${group.length} handlers of dead letters: ${group.map(({ origin }) => origin).join(', ')}. Remove all but one.`,
    );
}
