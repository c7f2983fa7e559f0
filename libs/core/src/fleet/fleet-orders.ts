import { FleetOrderException } from '../errors/fleet-errors.js';
import {
  fleetKeys,
  type CommandEntry,
  type KeyedFleetEntry,
  type OrderEntry,
} from './fleet-entry.js';
import type { FleetView } from './fleet-view.js';

/**
 * Returns the orders that a command puts into force or ends. Throws if an order that is in force
 * does not allow the command.
 */
export function ordersAfter(command: CommandEntry, view: FleetView): readonly KeyedFleetEntry[] {
  const { action, binding } = command;
  const whole = fleetKeys.order(binding);
  const stopped = view.ordersOf(binding).find(({ order }) => order === 'stopped');
  const refuseIfStopped = (): void => {
    if (!stopped) return;
    const who = stopped.by === undefined ? '' : ` by ${stopped.by}`;
    const at = new Date(stopped.at).toISOString();
    throw new FleetOrderException(binding.name, action.name, `it was stopped${who} at ${at}`);
  };
  switch (action.name) {
    case 'pause':
      refuseIfStopped();
      return [[whole, orderOf(command, 'paused')]];
    case 'resume':
      refuseIfStopped();
      return [[whole, null]];
    case 'stop': {
      // A stop ends the pauses of tiers, so they are not adopted after a start.
      const tiers = view.ordersOf(binding).flatMap(({ tier }) => tier ?? []);
      const ended = tiers.map((tier): KeyedFleetEntry => [fleetKeys.order(binding, tier), null]);
      return [[whole, orderOf(command, 'stopped')], ...ended];
    }
    case 'start':
      return [[whole, null]];
    case 'pause-tier':
      refuseIfStopped();
      return [
        [
          fleetKeys.order(binding, action.tier),
          { ...orderOf(command, 'tier-paused'), tier: action.tier },
        ],
      ];
    case 'resume-tier':
      return [[fleetKeys.order(binding, action.tier), null]];
    case 'decide':
      return [];
  }
}

function orderOf(
  { id, binding, by, reason, at }: CommandEntry,
  order: OrderEntry['order'],
): OrderEntry {
  return {
    ...{ kind: 'order', id, order, binding, at },
    ...(by !== undefined && { by }),
    ...(reason !== undefined && { reason }),
  };
}
