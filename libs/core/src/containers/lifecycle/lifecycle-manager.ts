import type { DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import {
  InvalidContainerStateException,
  TierNotFoundException,
  type ContainerOperation,
} from '../../errors/container-errors.js';
import type { ShutdownGate } from '../shutdown/shutdown-gate.js';
import { BindingLocks } from './binding-locks.js';
import type { BindingRef } from '../../model/states/binding-ref.js';
import type { AnyBindingName, CheckedBindingRef } from '../../model/states/event-bus-bindings.js';
import {
  containersOf,
  snapshotOf,
  type BindingPause,
  type BindingSnapshot,
  type ContainerRegistration,
  type LastCommand,
} from '../container-registration.js';
import type { ContainerRegistry } from '../container-registry.js';
import { failuresOf, throwIfAny } from '../shutdown/collect-failures.js';
import type { MessageContainer } from '../message-container.js';
import { assertTransition, isLive } from './transitions.js';

/** Author and reason of a command, kept with the binding and shown to operators. */
export interface CommandNote {
  readonly reason?: string;
  readonly by?: string;
}

export interface LifecycleOptions {
  readonly registry: ContainerRegistry;
  readonly shutdownGate: ShutdownGate;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
  /** Time that `stop` and `destroy` give to running handlers. */
  readonly drainTimeoutMs: () => number;
}

/** Result of a command: the new registration, and the errors that occurred. */
interface CommandResult {
  readonly registration: ContainerRegistration;
  readonly failures: readonly Error[];
}

type CommandStep = (
  registration: ContainerRegistration,
  lastCommand: LastCommand,
) => Promise<CommandResult>;

const REMOVED_BY_RESUME: readonly BindingPause[] = ['operator', 'routing'];

/**
 * Runs commands on bindings. Commands on one binding run in turn. If a part of a command fails, the
 * other parts run all the same, the state is updated, and then the errors are thrown.
 *
 * A handler must not await a command on its own binding, because `stop` waits for the handler.
 */
export class LifecycleManager {
  readonly #locks = new BindingLocks();
  /** The containers that have replaced others. */
  readonly #replaced = new WeakMap<MessageContainer, MessageContainer>();
  readonly #steps: Readonly<Record<ContainerOperation, CommandStep>> = {
    start: (registration, command) => this.#start(registration, command),
    stop: (registration, command) => this.#stop(registration, command),
    pause: (registration, command) => this.#pause(registration, 'operator', command),
    resume: (registration, command) => this.#removePauses(registration, REMOVED_BY_RESUME, command),
    destroy: (registration, command) => this.#destroy(registration, command),
  };

  constructor(private readonly options: LifecycleOptions) {}

  /** Number of bindings with a command that runs or waits. */
  get busyBindings(): number {
    return this.#locks.size;
  }

  /** Starts reading with new sessions, without waiting for the broker. */
  start<Name extends AnyBindingName>(
    ref: CheckedBindingRef<Name>,
    note: CommandNote = {},
  ): Promise<BindingSnapshot> {
    return this.#command('start', ref, note);
  }

  /** Waits for running handlers, commits and leaves the group. */
  stop<Name extends AnyBindingName>(
    ref: CheckedBindingRef<Name>,
    note: CommandNote = {},
  ): Promise<BindingSnapshot> {
    return this.#command('stop', ref, note);
  }

  /**
   * Pauses without leaving the group, and commits completed records first. If the circuit or
   * routing has paused the binding already, the operator's pause remains when those pauses end.
   */
  pause<Name extends AnyBindingName>(
    ref: CheckedBindingRef<Name>,
    note: CommandNote = {},
  ): Promise<BindingSnapshot> {
    return this.#command('pause', ref, note);
  }

  /**
   * Removes the pauses of an operator and of routing. If the circuit is open, the binding stays
   * PAUSED, and the result lists the reason.
   */
  resume<Name extends AnyBindingName>(
    ref: CheckedBindingRef<Name>,
    note: CommandNote = {},
  ): Promise<BindingSnapshot> {
    return this.#command('resume', ref, note);
  }

  /** Stops a running binding and removes it, even if parts of the stop fail. */
  destroy<Name extends AnyBindingName>(
    ref: CheckedBindingRef<Name>,
    note: CommandNote = {},
  ): Promise<BindingSnapshot> {
    return this.#command('destroy', ref, note);
  }

  /**
   * Pauses one retry tier until `resumeTier` or a stop. The binding and its other tiers continue,
   * and failed records are still written to the tier's topic.
   */
  pauseTier<Name extends AnyBindingName>(
    ref: CheckedBindingRef<Name>,
    tier: number,
    note: CommandNote = {},
  ): Promise<BindingSnapshot> {
    return this.#commandTier('pause', ref, tier, note);
  }

  /** Removes the pause of `pauseTier`. Other pauses of the tier remain. */
  resumeTier<Name extends AnyBindingName>(
    ref: CheckedBindingRef<Name>,
    tier: number,
    note: CommandNote = {},
  ): Promise<BindingSnapshot> {
    return this.#commandTier('resume', ref, tier, note);
  }

  /**
   * Replaces a binding by one with other options. A running binding drains, commits and joins its
   * group again. The state and the pauses of operators remain; its circuit begins closed. `prepare`
   * is given the current binding, and no other command on it runs meanwhile.
   */
  replace(
    ref: BindingRef,
    prepare: (current: ContainerRegistration) => Promise<() => ContainerRegistration>,
    note: CommandNote = {},
  ): Promise<BindingSnapshot> {
    return this.#locked(ref, async (registration) => {
      const { bindingName, state } = registration;
      this.options.shutdownGate.assertOpen(`change binding '${bindingName}'`);
      if (state === 'DESTROYED') throw notLive(registration, 'start');
      const build = await prepare(registration);
      this.options.shutdownGate.assertOpen(`change binding '${bindingName}'`);
      const command = this.#commandOf('start', { reason: 'reconfigured', ...note });
      return this.#report('start', await this.#replace(registration, build(), command));
    });
  }

  /** Adds a pause reason; other reasons remain. Adding a reason twice changes nothing. */
  addPause<Name extends AnyBindingName>(
    ref: CheckedBindingRef<Name>,
    pause: BindingPause,
    note: CommandNote = {},
  ): Promise<BindingSnapshot> {
    return this.#locked(ref, async (registration) => {
      if (!isLive(registration.state)) throw notLive(registration, 'pause');
      if (registration.pauses.includes(pause)) return snapshotOf(registration);
      const command = this.#commandOf('pause', { reason: pause, ...note });
      return this.#report('pause', await this.#pause(registration, pause, command));
    });
  }

  /**
   * Removes a pause reason and returns the remaining ones. Removing a reason that does not exist is
   * no error.
   */
  removePause<Name extends AnyBindingName>(
    ref: CheckedBindingRef<Name>,
    pause: BindingPause,
    note: CommandNote = {},
  ): Promise<BindingSnapshot> {
    return this.#locked(ref, async (registration) => {
      if (!registration.pauses.includes(pause)) return snapshotOf(registration);
      const command = this.#commandOf('resume', { reason: pause, ...note });
      return this.#report('resume', await this.#removePauses(registration, [pause], command));
    });
  }

  #command(
    operation: ContainerOperation,
    ref: BindingRef,
    note: CommandNote,
  ): Promise<BindingSnapshot> {
    return this.#locked(ref, async (registration) => {
      this.#assertNotShuttingDown(operation, registration);
      if (!isFirstOperatorPause(operation, registration))
        assertTransition(registration.bindingName, operation, registration.state);
      const command = this.#commandOf(operation, note);
      return this.#report(operation, await this.#steps[operation](registration, command));
    });
  }

  #commandTier(
    operation: 'pause' | 'resume',
    ref: BindingRef,
    tier: number,
    note: CommandNote,
  ): Promise<BindingSnapshot> {
    return this.#locked(ref, async (registration) => {
      const container = tierOf(registration, tier);
      if (!isLive(registration.state)) throw notLive(registration, operation);
      this.#assertNotShuttingDown(operation, registration);
      const lastCommand = this.#commandOf(operation, { reason: `tier ${tier}`, ...note });
      const failures = await failuresOf([() => container[operation]('tier')]);
      return this.#report(operation, this.#update(registration, { lastCommand }, failures));
    });
  }

  async #locked(
    ref: BindingRef,
    work: (registration: ContainerRegistration) => Promise<BindingSnapshot>,
  ): Promise<BindingSnapshot> {
    const meant = this.options.registry.require(ref);
    return this.#locks.run(meant.key, () => work(this.#currentRegistration(meant)));
  }

  /**
   * Returns the current registration. Throws if the binding was destroyed while the command waited,
   * even if another binding has its name now.
   */
  #currentRegistration(meant: ContainerRegistration): ContainerRegistration {
    const found = this.options.registry.get({ cluster: meant.cluster, name: meant.bindingName });
    return found && this.#isSame(found.mainContainer, meant.mainContainer)
      ? found
      : { ...meant, state: 'DESTROYED', pauses: [] };
  }

  /** Returns whether the container is the meant one, or has replaced it. */
  #isSame(found: MessageContainer, meant: MessageContainer): boolean {
    for (let each: MessageContainer | undefined = meant; each; each = this.#replaced.get(each))
      if (each === found) return true;
    return false;
  }

  /** During a shutdown, bindings may be stopped and destroyed, but not started. */
  #assertNotShuttingDown(
    operation: ContainerOperation,
    { bindingName }: ContainerRegistration,
  ): void {
    if (operation === 'start' || operation === 'resume')
      this.options.shutdownGate.assertOpen(`${operation} binding '${bindingName}'`);
  }

  async #start(
    registration: ContainerRegistration,
    lastCommand: LastCommand,
  ): Promise<CommandResult> {
    const containers = containersOf(registration);
    const failures = await failuresOf(containers.map((container) => () => container.start()));
    if (failures.length === 0)
      return this.#update(registration, {
        state: 'RUNNING',
        pauses: [],
        lastCommand,
        startFailure: undefined,
      });
    const closed = await Promise.all(containers.map((container) => container.close()));
    const leftovers = closed.flatMap(({ errors }) => errors);
    return this.#update(registration, { startFailure: failures[0] }, [...failures, ...leftovers]);
  }

  async #replace(
    before: ContainerRegistration,
    built: ContainerRegistration,
    lastCommand: LastCommand,
  ): Promise<CommandResult> {
    const { registry } = this.options;
    const pausedTiers = before.retryTierContainers
      .filter(({ status }) => status.pauses.includes('tier'))
      .map(({ tier }) => tier);
    const stopping = isLive(before.state) ? await this.#stopContainers(before) : [];
    registry.unregister(refOf(before));
    registry.register(built);
    this.#replaced.set(before.mainContainer, built.mainContainer);
    if (!isLive(before.state)) return this.#update(built, { state: before.state, lastCommand });
    let { registration, failures } = await this.#start(built, lastCommand);
    if (failures.length > 0) return { registration, failures };
    for (const pause of before.pauses.filter((each) => each !== 'circuit'))
      ({ registration, failures } = await this.#pause(registration, pause, lastCommand));
    const tiers = registration.retryTierContainers.filter(({ tier }) => pausedTiers.includes(tier));
    const pausing = await failuresOf(tiers.map((tier) => () => tier.pause('tier')));
    return { registration, failures: [...stopping, ...failures, ...pausing] };
  }

  async #stop(
    registration: ContainerRegistration,
    lastCommand: LastCommand,
  ): Promise<CommandResult> {
    const failures = await this.#stopContainers(registration);
    return this.#update(registration, { state: 'STOPPED', pauses: [], lastCommand }, failures);
  }

  async #destroy(
    registration: ContainerRegistration,
    lastCommand: LastCommand,
  ): Promise<CommandResult> {
    const failures = isLive(registration.state) ? await this.#stopContainers(registration) : [];
    const result = this.#update(
      registration,
      { state: 'DESTROYED', pauses: [], lastCommand },
      failures,
    );
    this.options.registry.unregister(refOf(registration));
    return result;
  }

  async #pause(
    registration: ContainerRegistration,
    pause: BindingPause,
    lastCommand: LastCommand,
  ): Promise<CommandResult> {
    const failures = await failuresOf(
      containersOf(registration).map((container) => () => container.pause(pause)),
    );
    const pauses = [...registration.pauses, pause];
    return this.#update(registration, { state: 'PAUSED', pauses, lastCommand }, failures);
  }

  async #removePauses(
    registration: ContainerRegistration,
    lifted: readonly BindingPause[],
    lastCommand: LastCommand,
  ): Promise<CommandResult> {
    const leaving = registration.pauses.filter((pause) => lifted.includes(pause));
    const failures = await failuresOf(
      containersOf(registration).flatMap((container) =>
        leaving.map((pause) => () => container.resume(pause)),
      ),
    );
    const pauses = registration.pauses.filter((pause) => !lifted.includes(pause));
    const state = pauses.length === 0 ? 'RUNNING' : 'PAUSED';
    return this.#update(registration, { state, pauses, lastCommand }, failures);
  }

  /**
   * A shutdown closes the containers before it destroys the binding, so there may be no open
   * container here.
   */
  async #stopContainers(registration: ContainerRegistration): Promise<readonly Error[]> {
    const started = containersOf(registration).filter(({ isStarted }) => isStarted);
    const drainMs = this.options.drainTimeoutMs();
    const reports = await Promise.all(started.map((container) => container.close(drainMs)));
    registration.publishProblems?.clear();
    registration.problems.clear();
    return reports.flatMap(({ errors }) => errors);
  }

  #update(
    registration: ContainerRegistration,
    update: Parameters<ContainerRegistry['updateState']>[1],
    failures: readonly Error[] = [],
  ): CommandResult {
    const updated = this.options.registry.updateState(refOf(registration), update);
    return { registration: updated, failures };
  }

  #report(
    operation: ContainerOperation,
    { registration, failures }: CommandResult,
  ): BindingSnapshot {
    const { bindingName, state } = registration;
    throwIfAny(
      failures,
      `Binding '${bindingName}' is ${state}, but not everything that belongs to ${operation} succeeded`,
    );
    return snapshotOf(registration);
  }

  #commandOf(operation: ContainerOperation, { reason, by }: CommandNote): LastCommand {
    return { operation, reason, by, at: this.options.runtime.now() };
  }
}

/**
 * Returns whether an operator pauses a binding that its circuit or routing has paused before. That
 * is allowed: the operator's pause remains when the other one ends.
 */
function isFirstOperatorPause(
  operation: ContainerOperation,
  { state, pauses }: ContainerRegistration,
): boolean {
  return operation === 'pause' && state === 'PAUSED' && !pauses.includes('operator');
}

function tierOf(
  { bindingName, retryTierContainers }: ContainerRegistration,
  tier: number,
): MessageContainer {
  const found = retryTierContainers.find((container) => container.tier === tier);
  if (found) return found;
  const known = retryTierContainers.map((container) => container.tier);
  throw new TierNotFoundException(bindingName, tier, known);
}

function refOf({ cluster, bindingName }: ContainerRegistration): BindingRef {
  return { cluster, name: bindingName };
}

function notLive(
  { bindingName, state }: ContainerRegistration,
  operation: ContainerOperation,
): InvalidContainerStateException {
  return new InvalidContainerStateException(bindingName, operation, state, ['RUNNING', 'PAUSED']);
}
