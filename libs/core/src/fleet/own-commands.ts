import { BrokerError, errorReasonOf } from '@nest-event-bus/broker';
import type {
  BindingSnapshot,
  ContainerRegistration,
} from '../containers/container-registration.js';
import type { ContainerRegistry } from '../containers/container-registry.js';
import { BindingLocks } from '../containers/lifecycle/binding-locks.js';
import type { CommandNote } from '../containers/lifecycle/lifecycle-manager.js';
import { isLive } from '../containers/lifecycle/transitions.js';
import { EventBusException } from '../errors/event-bus-exception.js';
import type { BindingRef } from '../model/states/binding-ref.js';
import {
  bindingText,
  type AnswerResult,
  type FleetAction,
  type FleetBinding,
} from './fleet-entry.js';
import { fleetBindingOf } from './instance-report.js';

/** Where a command of the fleet comes from. */
export interface FleetOrigin {
  readonly id: string;
  /** The instance that was given the command. */
  readonly from: string;
}

export type FleetNote = CommandNote & { readonly fleet: FleetOrigin };

/** Does in this process what a command says, and audits it. */
export type Obey = (
  action: FleetAction,
  ref: BindingRef,
  note: FleetNote,
) => Promise<BindingSnapshot>;

export interface OwnCommandsParts {
  readonly registry: Pick<ContainerRegistry, 'listAll'>;
  readonly obey: Obey;
}

/** How this process has answered a command. */
export interface OwnAnswer {
  readonly result: Exclude<AnswerResult, 'expired'>;
  readonly snapshot?: BindingSnapshot;
  readonly code?: string;
  readonly message?: string;
}

/** The command was right, and the state of the binding in this process does not allow it. */
const REFUSALS: ReadonlySet<string> = new Set([
  'BINDING_NOT_FOUND',
  'INVALID_CONTAINER_STATE',
  'NO_RECORD_WAITS',
  'TIER_NOT_FOUND',
  'EVENT_BUS_SHUTTING_DOWN',
]);

/**
 * Runs commands in this process. Those of one binding run in turn, so that each is compared with the
 * state that the one before it has left.
 */
export class OwnCommands {
  readonly #locks = new BindingLocks();

  constructor(private readonly parts: OwnCommandsParts) {}

  find(binding: FleetBinding): ContainerRegistration | undefined {
    const text = bindingText(binding);
    return this.parts.registry
      .listAll()
      .find((registration) => bindingText(fleetBindingOf(registration)) === text);
  }

  /** Does what the command says, unless the binding is in that state already. Never rejects. */
  run(binding: FleetBinding, action: FleetAction, note: FleetNote): Promise<OwnAnswer> {
    return this.#locks.run(bindingText(binding), () => this.#run(binding, action, note));
  }

  async #run(binding: FleetBinding, action: FleetAction, note: FleetNote): Promise<OwnAnswer> {
    const { name, cluster } = binding;
    const registration = this.find(binding);
    if (registration && isUnchangedBy(action, registration)) return { result: 'unchanged' };
    try {
      return { result: 'done', snapshot: await this.parts.obey(action, { cluster, name }, note) };
    } catch (error) {
      if (!(error instanceof EventBusException || error instanceof BrokerError))
        return { result: 'failed', message: errorReasonOf(error) };
      const result = REFUSALS.has(error.code) ? 'refused' : 'failed';
      return { result, code: error.code, message: error.message };
    }
  }
}

function isUnchangedBy(
  action: FleetAction,
  { pauses, retryTierContainers, state }: ContainerRegistration,
): boolean {
  const isTierPaused = (tier: number): boolean =>
    retryTierContainers.some((each) => each.tier === tier && each.status.pauses.includes('tier'));
  switch (action.name) {
    case 'start':
      return isLive(state);
    case 'stop':
      return state === 'STOPPED' || state === 'CREATED';
    case 'pause':
      return pauses.includes('operator');
    case 'resume':
      return isLive(state) && !pauses.includes('operator') && !pauses.includes('routing');
    case 'pause-tier':
      return isLive(state) && isTierPaused(action.tier);
    case 'resume-tier':
      return isLive(state) && !isTierPaused(action.tier);
    case 'decide':
      return false;
  }
}
