import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { BindingPause } from '../containers/container-registration.js';
import type { ContainerRegistry, RegistryChange } from '../containers/container-registry.js';
import type { EventSink } from '../model/events/event-sink.js';

/** Emits events of the state and of the pauses of bindings, as long as the bus exists. */
export function emitBindingChanges(
  registry: Pick<ContainerRegistry, 'onChange'>,
  events: EventSink,
  runtime: Pick<Runtime, 'now'>,
): void {
  registry.onChange((change) => {
    if (change.kind === 'updated') emitChange(change, events, runtime.now());
  });
}

function emitChange(
  { registration, previous }: Extract<RegistryChange, { kind: 'updated' }>,
  events: EventSink,
  at: number,
): void {
  const { bindingName: binding, cluster, lastCommand, pauses, state } = registration;
  const command = { reason: lastCommand?.reason, by: lastCommand?.by };
  const base = { at, binding, cluster, ...command };
  if (state !== previous.state)
    events.emit({ name: 'binding.changed', ...base, from: previous.state, to: state });
  for (const pause of added(previous.pauses, pauses))
    events.emit({ name: 'binding.paused', ...base, pause, pauses });
  if (previous.pauses.length > 0 && pauses.length === 0 && state === 'RUNNING')
    events.emit({ name: 'binding.resumed', ...base, pauses: previous.pauses });
}

function added(
  before: readonly BindingPause[],
  after: readonly BindingPause[],
): readonly BindingPause[] {
  return after.filter((pause) => !before.includes(pause));
}
