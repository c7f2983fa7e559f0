import {
  SendError,
  type BrokerDriver,
  type DriverLogger,
  type ProducerSession,
} from '@nest-event-bus/broker';
import { sleep, within, type Runtime } from '@nest-event-bus/broker/runtime';
import type { ResolvedFleet } from '../config/resolving/resolved-options.js';
import type { ContainerRegistration } from '../containers/container-registration.js';
import type { ContainerRegistry } from '../containers/container-registry.js';
import type { CommandNote } from '../containers/lifecycle/lifecycle-manager.js';
import type { ShutdownGate } from '../containers/shutdown/shutdown-gate.js';
import { TierNotFoundException } from '../errors/container-errors.js';
import { FleetNotConfiguredException, FleetUnavailableException } from '../errors/fleet-errors.js';
import type { BindingRef } from '../model/states/binding-ref.js';
import type { BindingLag } from '../model/states/lag.js';
import { ControlTopic } from './control-topic.js';
import { commandAnswer, type FleetAnswer, type FleetState } from './fleet-answer.js';
import {
  fleetKeys,
  type CommandEntry,
  type FleetAction,
  type InstanceEntry,
} from './fleet-entry.js';
import { FleetMember } from './fleet-member.js';
import { ordersAfter } from './fleet-orders.js';
import { isSilent } from './fleet-view.js';
import { fleetBindingOf, instanceReport } from './instance-report.js';
import type { Obey } from './own-commands.js';

export interface FleetParts {
  readonly registry: ContainerRegistry;
  readonly shutdownGate: ShutdownGate;
  readonly driverOf: (cluster: string) => BrokerDriver;
  readonly producerOf: (cluster: string) => ProducerSession;
  readonly lagOf: (ref: BindingRef) => BindingLag | undefined;
  readonly obey: Obey;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

/** How long a command counts, and how long its answers are awaited. */
export interface FleetCommandOptions extends CommandNote {
  /** Default 10 s. */
  readonly waitMs?: number;
  /** An instance that reads the command later does not obey it. Default 30 s. */
  readonly validMs?: number;
}

const DEFAULT_WAIT_MS = 10_000;
const DEFAULT_VALID_MS = 30_000;
const LOOK_EVERY_MS = 100;

/** The processes that share a control topic. Without one, this process knows no other. */
export class Fleet {
  #member: FleetMember | undefined;
  #topic: ControlTopic | undefined;
  #settings: ResolvedFleet | undefined;

  readonly #startedAt: number;

  constructor(private readonly parts: FleetParts) {
    this.#startedAt = parts.runtime.now();
  }

  get isConfigured(): boolean {
    return this.#member !== undefined;
  }

  /** To be called once, before the bindings start. */
  async begin(settings: ResolvedFleet): Promise<void> {
    this.#settings = settings;
    const { cluster, controlTopic, provisioning } = settings;
    if (controlTopic === undefined) return;
    const { driverOf, lagOf, logger, obey, producerOf, registry, runtime } = this.parts;
    const instance = settings.instance ?? `${runtime.hostname()}-${runtime.uuid().slice(0, 8)}`;
    this.#topic = new ControlTopic({
      topic: controlTopic,
      creates: provisioning === 'create',
      driver: () => driverOf(cluster),
      producer: () => producerOf(cluster),
    });
    this.#member = new FleetMember({
      ...{ topic: this.#topic, registry, lagOf, obey, runtime, logger },
      settings: { ...settings, controlTopic, instance },
    });
    await this.#member.begin();
  }

  /** Returns whether an order of the fleet keeps the binding from starting. */
  isStopped(registration: ContainerRegistration): boolean {
    return this.#member?.isStopped(registration) ?? false;
  }

  /**
   * Gives a command to every process that has the binding, and waits for their answers. Pauses and
   * stops stay in force until another command ends them: processes that start later adopt them.
   */
  async command(
    action: FleetAction,
    ref: BindingRef,
    { by, reason, waitMs = DEFAULT_WAIT_MS, validMs = DEFAULT_VALID_MS }: FleetCommandOptions = {},
  ): Promise<FleetAnswer> {
    const { registry, runtime, shutdownGate } = this.parts;
    const { member, topic } = this.#require();
    const registration = registry.require(ref);
    shutdownGate.assertOpen(`${action.name} binding '${registration.bindingName}' in the fleet`);
    requireTier(action, registration);
    const endsAt = runtime.monotonic() + waitMs;
    await member.tick();
    if (!member.isCaughtUp) throw this.#unavailable('could not be read');
    const binding = fleetBindingOf(registration);
    const command: CommandEntry = {
      ...{ kind: 'command', id: runtime.uuid(), action, binding, from: member.name },
      ...(by !== undefined && { by }),
      ...(reason !== undefined && { reason }),
      ...{ at: runtime.now(), validMs },
    };
    const expected = new Map(member.view.instancesWith(binding).map((each) => [each.name, each]));
    expected.set(member.name, member.ownReport());
    const entries = [
      ...ordersAfter(command, member.view),
      [fleetKeys.command(command.id), command] as const,
    ];
    const until = new Date(command.at + validMs).toISOString();
    const mayLast = entries.some(([, entry]) => entry?.kind === 'order')
      ? '. A pause or stop that was written stays in force until a resume or start'
      : '';
    const late = (cause?: unknown): Error =>
      this.#unavailable(
        `did not take the command in time. It may have been written, and may be obeyed until ${until}${mayLast}`,
        cause,
      );
    await within(runtime, waitMs, topic.write(entries), () => late()).catch((cause: unknown) => {
      if (cause instanceof FleetUnavailableException) throw cause;
      throw isNotWritten(cause) ? this.#unavailable('could not be written', cause) : late(cause);
    });
    for (;;) {
      await member.tick();
      const answer = commandAnswer(command, expected, member.view.answersTo(command.id));
      if (answer.isComplete || !answer.isAwaited || runtime.monotonic() >= endsAt) return answer;
      if (!shutdownGate.isOpen) return answer;
      await sleep(runtime, LOOK_EVERY_MS);
    }
  }

  /** Describes all instances, or this one if no control topic is configured. */
  async state(): Promise<FleetState> {
    const { runtime } = this.parts;
    if (!this.#member)
      return { scope: 'process', instances: [{ ...this.#alone(), isSilent: false }], orders: [] };
    const member = this.#member;
    await member.tick();
    const others = member.view.instances.filter(({ name }) => name !== member.name);
    const now = runtime.now();
    return {
      scope: 'fleet',
      instances: [
        { ...member.ownReport(), isSilent: false },
        ...others.map((each) => ({ ...each, isSilent: isSilent(each, now) })),
      ],
      orders: member.view.orders,
    };
  }

  async close(): Promise<void> {
    await this.#member?.close();
  }

  /** Describes this process, which knows no other. */
  #alone(): InstanceEntry {
    const { runtime } = this.parts;
    const {
      instance = runtime.hostname(),
      reportIntervalMs = 0,
      version = '',
    } = this.#settings ?? {};
    const startedAt = this.#startedAt;
    return instanceReport({ ...this.parts, instance, reportIntervalMs, startedAt, version });
  }

  #require(): { readonly member: FleetMember; readonly topic: ControlTopic } {
    if (!this.#member || !this.#topic) throw new FleetNotConfiguredException();
    return { member: this.#member, topic: this.#topic };
  }

  #unavailable(complaint: string, cause?: unknown): FleetUnavailableException {
    return new FleetUnavailableException(this.#settings?.controlTopic ?? '', complaint, { cause });
  }
}

/** Returns whether no record can have been written, not even later. */
function isNotWritten(error: unknown): boolean {
  return (
    !(error instanceof SendError) || error.outcomes.every(({ state }) => state === 'not-written')
  );
}

/** Refuses a tier that the binding does not have, before any process hears of it. */
function requireTier(
  action: FleetAction,
  { bindingName, retryTierContainers }: ContainerRegistration,
): void {
  if (action.name !== 'pause-tier' && action.name !== 'resume-tier') return;
  const known = retryTierContainers.map(({ tier }) => tier);
  if (!known.includes(action.tier))
    throw new TierNotFoundException(bindingName, action.tier, known);
}
