import { BrokerError, type DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { ContainerRegistry } from '../containers/container-registry.js';
import type { CommandNote } from '../containers/lifecycle/lifecycle-manager.js';
import type { ShutdownGate } from '../containers/shutdown/shutdown-gate.js';
import { EventBusException } from '../errors/event-bus-exception.js';
import type { FleetOrigin } from '../fleet/own-commands.js';
import type { AdminCommandName } from '../model/events/admin-command.js';
import type { EventSink } from '../model/events/event-sink.js';
import type { BindingRef } from '../model/states/binding-ref.js';

export interface AuditParts {
  readonly registry: Pick<ContainerRegistry, 'listAll'>;
  readonly shutdownGate: ShutdownGate;
  readonly hub: EventSink;
  readonly runtime: Pick<Runtime, 'now'>;
  readonly logger: DriverLogger;
}

/** Runs commands of operators, and reports who gave them, why, and how they ended. */
export class CommandAudit {
  constructor(private readonly parts: AuditParts) {}

  /** Refuses the command during a shutdown. */
  async command<T>(
    command: AdminCommandName,
    ref: BindingRef,
    { by, fleet, reason }: CommandNote & { readonly fleet?: FleetOrigin },
    act: () => Promise<T>,
  ): Promise<T> {
    const place = this.#placeOf(ref);
    const entry = { command, ...place, by, reason, ...(fleet && { fleet }) };
    try {
      this.parts.shutdownGate.assertOpen(`${command} binding '${place.binding}'`);
      const result = await act();
      this.#tell({ ...entry, outcome: 'done' });
      return result;
    } catch (error) {
      this.#tell({ ...entry, outcome: 'failed', code: codeOf(error) });
      throw error;
    }
  }

  #tell(entry: {
    readonly command: AdminCommandName;
    readonly binding: string;
    readonly cluster: string;
    readonly by: string | undefined;
    readonly reason: string | undefined;
    readonly fleet?: FleetOrigin;
    readonly outcome: 'done' | 'failed';
    readonly code?: string | undefined;
  }): void {
    const { hub, logger, runtime } = this.parts;
    logger.info('A command was given to the event bus', entry);
    hub.emit({ name: 'admin.command', at: runtime.now(), ...entry });
  }

  /** Names the cluster also if the caller has not. A binding that does not exist has none. */
  #placeOf(ref: BindingRef): { readonly binding: string; readonly cluster: string } {
    if (typeof ref !== 'string') return { binding: ref.name, cluster: ref.cluster };
    const found = this.parts.registry.listAll().filter(({ bindingName }) => bindingName === ref);
    return { binding: ref, cluster: found.length === 1 ? found[0]!.cluster : '' };
  }
}

function codeOf(error: unknown): string | undefined {
  const isOwn = error instanceof EventBusException || error instanceof BrokerError;
  return isOwn ? error.code : undefined;
}
