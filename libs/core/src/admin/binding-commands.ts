import type { BindingSnapshot } from '../containers/container-registration.js';
import type { EventBusConnector } from '../containers/lifecycle/event-bus-connector.js';
import type { CommandNote, LifecycleManager } from '../containers/lifecycle/lifecycle-manager.js';
import type { FleetAction } from '../fleet/fleet-entry.js';
import type { FleetOrigin } from '../fleet/own-commands.js';
import type { BindingRef } from '../model/states/binding-ref.js';
import type { CommandAudit } from './command-audit.js';

export interface BindingCommandsParts {
  readonly connector: Pick<EventBusConnector, 'decide'>;
  readonly lifecycle: LifecycleManager;
  readonly audit: CommandAudit;
}

/** Gives commands to the bindings of this process, whoever they come from, and audits them. */
export class BindingCommands {
  constructor(private readonly parts: BindingCommandsParts) {}

  give(
    action: FleetAction,
    ref: BindingRef,
    note: CommandNote & { readonly fleet?: FleetOrigin } = {},
  ): Promise<BindingSnapshot> {
    return this.parts.audit.command(action.name, ref, note, () => this.#act(action, ref, note));
  }

  #act(
    action: FleetAction,
    ref: BindingRef,
    { by, reason }: CommandNote,
  ): Promise<BindingSnapshot> {
    const { connector, lifecycle } = this.parts;
    const note = { ...(by !== undefined && { by }), ...(reason !== undefined && { reason }) };
    switch (action.name) {
      case 'start':
        return lifecycle.start(ref, note);
      case 'stop':
        return lifecycle.stop(ref, note);
      case 'pause':
        return lifecycle.pause(ref, note);
      case 'resume':
        return lifecycle.resume(ref, note);
      case 'pause-tier':
        return lifecycle.pauseTier(ref, action.tier, note);
      case 'resume-tier':
        return lifecycle.resumeTier(ref, action.tier, note);
      case 'decide': {
        const { decision, offset, partition, topic } = action;
        const place = { topic, partition, ...(offset !== undefined && { offset: BigInt(offset) }) };
        return connector.decide(ref, place, decision, note);
      }
    }
  }
}
