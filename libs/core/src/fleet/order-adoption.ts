import type { DriverLogger } from '@nest-event-bus/broker';
import type { ContainerRegistration } from '../containers/container-registration.js';
import type { ContainerRegistry, RegistryChange } from '../containers/container-registry.js';
import { isLive } from '../containers/lifecycle/transitions.js';
import {
  bindingText,
  fleetKeys,
  type CommandEntry,
  type FleetAction,
  type FleetBinding,
  type OrderEntry,
} from './fleet-entry.js';
import type { FleetView } from './fleet-view.js';
import { fleetBindingOf } from './instance-report.js';
import type { OwnCommands } from './own-commands.js';

export interface OrderAdoptionParts {
  readonly registry: Pick<ContainerRegistry, 'listAll'>;
  readonly view: FleetView;
  readonly commands: Pick<OwnCommands, 'run'>;
  readonly logger: DriverLogger;
}

interface Adopted {
  readonly id: string;
  readonly binding: string;
  readonly order: OrderEntry['order'];
  readonly tier: number | undefined;
}

/**
 * Brings the bindings of this process to the pauses and stops that are in force in the fleet: of a
 * process that is new, and of one that was away while a command was given.
 */
export class OrderAdoption {
  /** The orders that this process has followed, by their keys. */
  readonly #adopted = new Map<string, Adopted>();

  constructor(private readonly parts: OrderAdoptionParts) {}

  /** A command that this process obeys needs no adoption. */
  noteCommand({ action, binding, id }: CommandEntry): void {
    const note = (order: OrderEntry['order'], tier?: number): void =>
      void this.#adopted.set(fleetKeys.order(binding, tier), {
        ...{ id, binding: bindingText(binding), order, tier },
      });
    switch (action.name) {
      case 'pause':
        return note('paused');
      case 'stop':
        this.#forgetOf(binding, () => true);
        return note('stopped');
      case 'pause-tier':
        return note('tier-paused', action.tier);
      case 'resume':
      case 'start':
        return void this.#adopted.delete(fleetKeys.order(binding));
      case 'resume-tier':
        return void this.#adopted.delete(fleetKeys.order(binding, action.tier));
      case 'decide':
    }
  }

  /** A binding that starts has no pauses, so it adopts them again. */
  noteChange(change: RegistryChange): void {
    const binding = fleetBindingOf(change.registration);
    if (change.kind === 'unregistered') this.#forgetOf(binding, () => true);
    if (
      change.kind === 'updated' &&
      isLive(change.registration.state) &&
      !isLive(change.previous.state)
    )
      this.#forgetOf(binding, ({ order }) => order !== 'stopped');
  }

  /** Nothing is undone afterwards: what this process has adopted stays as it is. */
  forget(): void {
    this.#adopted.clear();
  }

  adopt(): void {
    const { registry, view } = this.parts;
    for (const registration of registry.listAll()) {
      const binding = fleetBindingOf(registration);
      const orders = view.ordersOf(binding);
      for (const order of orders) this.#follow(registration, order);
      this.#undo(registration, binding);
    }
  }

  #follow(registration: ContainerRegistration, order: OrderEntry): void {
    const { id, order: kind, binding, tier } = order;
    const key = fleetKeys.order(binding, tier);
    if (this.#adopted.get(key)?.id === id) return;
    // A binding that does not run adopts a pause when it starts.
    if (kind !== 'stopped' && !isLive(registration.state)) return;
    this.#adopted.set(key, { id, binding: bindingText(binding), order: kind, tier });
    this.#give(registration, actionOf(order), order);
  }

  /** Ends what was adopted, if its order has ended while this process did not hear the command. */
  #undo(registration: ContainerRegistration, binding: FleetBinding): void {
    const text = bindingText(binding);
    for (const [key, adopted] of this.#adopted) {
      if (adopted.binding !== text || this.parts.view.order(key)) continue;
      this.#adopted.delete(key);
      const { tier } = adopted;
      const action: FleetAction =
        tier !== undefined
          ? { name: 'resume-tier', tier }
          : { name: adopted.order === 'stopped' ? 'start' : 'resume' };
      this.#give(registration, action, { id: adopted.id, reason: 'its order has ended' });
    }
  }

  #give(
    registration: ContainerRegistration,
    action: FleetAction,
    { by, id, reason }: Pick<OrderEntry, 'by' | 'id' | 'reason'>,
  ): void {
    const { commands, logger } = this.parts;
    const { bindingName: name, cluster } = registration;
    const note = {
      ...(by !== undefined && { by }),
      ...(reason !== undefined && { reason }),
      fleet: { id, from: 'the order in force' },
    };
    const context = { binding: name, cluster, command: action.name, id, by, reason };
    void commands.run(fleetBindingOf(registration), action, note).then(({ message, result }) => {
      if (result === 'done') logger.info('An order of the fleet was adopted', context);
      else if (result !== 'unchanged')
        logger.warn('An order of the fleet could not be adopted', { ...context, message });
    });
  }

  #forgetOf(binding: FleetBinding, isMeant: (adopted: Adopted) => boolean): void {
    const text = bindingText(binding);
    for (const [key, adopted] of this.#adopted)
      if (adopted.binding === text && isMeant(adopted)) this.#adopted.delete(key);
  }
}

function actionOf({ order, tier }: OrderEntry): FleetAction {
  if (order === 'tier-paused') return { name: 'pause-tier', tier: tier! };
  return { name: order === 'stopped' ? 'stop' : 'pause' };
}
