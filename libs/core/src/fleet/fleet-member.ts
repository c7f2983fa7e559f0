import { errorReasonOf, type DriverLogger } from '@nest-event-bus/broker';
import { resolvesWithin, type Runtime, type Timer } from '@nest-event-bus/broker/runtime';
import type { ContainerRegistration } from '../containers/container-registration.js';
import type { ContainerRegistry } from '../containers/container-registry.js';
import type { BindingRef } from '../model/states/binding-ref.js';
import type { BindingLag } from '../model/states/lag.js';
import { OngoingProblems } from '../problems/ongoing-problems.js';
import type { ControlTopic } from './control-topic.js';
import {
  fleetKeys,
  type AnswerEntry,
  type CommandEntry,
  type FleetBinding,
  type FleetEntry,
  type InstanceEntry,
  type KeyedFleetEntry,
} from './fleet-entry.js';
import { FleetView } from './fleet-view.js';
import { fleetBindingOf, instanceReport } from './instance-report.js';
import { OwnCommands, type Obey, type OwnAnswer } from './own-commands.js';
import { OrderAdoption } from './order-adoption.js';

export interface FleetSettings {
  readonly instance: string;
  readonly version: string;
  readonly controlTopic: string;
  readonly pollIntervalMs: number;
  readonly reportIntervalMs: number;
}

export interface FleetMemberParts {
  readonly settings: FleetSettings;
  readonly topic: ControlTopic;
  readonly registry: Pick<ContainerRegistry, 'listAll' | 'onChange'>;
  readonly lagOf: (ref: BindingRef) => BindingLag | undefined;
  readonly obey: Obey;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

/** A start waits this long for the orders that are in force. */
const CATCH_UP_MS = 5_000;
/** A close waits this long for a read or write that has begun. */
const CLOSE_WAIT_MS = 5_000;
const SWEEP_EVERY_MS = 60_000;
/** A state that changes often is not reported more often than this. */
const LEAST_REPORT_MS = 1_000;
const MOST_SEEN = 1_000;

/** Follows the control topic: obeys commands, adopts orders, and reports the state of this process. */
export class FleetMember {
  readonly view = new FleetView();
  readonly #commands: OwnCommands;
  readonly #adoption: OrderAdoption;
  readonly #problems: OngoingProblems;
  readonly #startedAt: number;
  /** Commands that were obeyed, in case that the topic is read again. */
  readonly #seen = new Set<string>();
  #hasRead = false;
  #isChecked = false;
  #isClosed = false;
  #ticking: Promise<void> | undefined;
  #timer: Timer | undefined;
  #reportedAt = -Infinity;
  #sweptAt: number;
  #isChanged = true;
  #endWatch: () => void = () => undefined;

  constructor(private readonly parts: FleetMemberParts) {
    const { logger, registry, runtime } = parts;
    this.#startedAt = runtime.now();
    this.#sweptAt = runtime.monotonic();
    this.#problems = new OngoingProblems(runtime, logger);
    this.#commands = new OwnCommands(parts);
    this.#adoption = new OrderAdoption({
      registry,
      logger,
      view: this.view,
      commands: this.#commands,
    });
  }

  get name(): string {
    return this.parts.settings.instance;
  }

  /** True once the topic was read, so that the orders in force are known. */
  get isCaughtUp(): boolean {
    return this.#hasRead;
  }

  /** Reads the orders in force. An unreachable broker does not delay the start for long. */
  async begin(): Promise<void> {
    const { logger, registry, runtime, settings } = this.parts;
    this.#endWatch = registry.onChange((change) => {
      this.#isChanged = true;
      this.#adoption.noteChange(change);
      // Adopts in the moment of the start, so that no record is handled before.
      if (this.#hasRead) this.#adoption.adopt();
    });
    const isRead = await resolvesWithin(runtime, CATCH_UP_MS, this.tick()).then(
      (isDone) => isDone && this.#hasRead,
    );
    if (!isRead)
      logger.warn(
        'The control topic could not be read in time. The bindings start, and adopt pauses and stops of the fleet when it can be read',
        { topic: settings.controlTopic, instance: this.name },
      );
    this.#next();
  }

  /** Returns whether the binding is not to be started, because the fleet was told to stop it. */
  isStopped(binding: ContainerRegistration): boolean {
    return this.view.ordersOf(fleetBindingOf(binding)).some(({ order }) => order === 'stopped');
  }

  /** Reads the topic once. Calls during a read wait for it. Does nothing once closed. Never rejects. */
  tick(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#ticking ??= this.#tick().finally(() => (this.#ticking = undefined));
    return this.#ticking;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { runtime, topic } = this.parts;
    this.#timer?.cancel();
    this.#endWatch();
    // A broker that does not answer must not delay the shutdown for long.
    await resolvesWithin(runtime, CLOSE_WAIT_MS, this.#ticking ?? Promise.resolve());
    // A report that stays is forgotten by the others after some minutes.
    const goodbye = topic.write([[fleetKeys.instance(this.name), null]]);
    if (this.#hasRead) await resolvesWithin(runtime, LEAST_REPORT_MS * 2, goodbye);
    else goodbye.catch(() => undefined);
    this.#problems.clear();
    await topic.close();
  }

  #next(): void {
    if (this.#isClosed) return;
    const { runtime, settings } = this.parts;
    this.#timer = runtime.setTimer(
      () => void this.tick().finally(() => this.#next()),
      settings.pollIntervalMs,
      { background: true },
    );
  }

  async #tick(): Promise<void> {
    const { settings, topic } = this.parts;
    try {
      if (!this.#isChecked) await topic.check();
      this.#isChecked = true;
      const { isNew, entries } = await topic.read();
      const isFirst = !this.#hasRead;
      if (isNew && !isFirst) this.#beginAgain();
      this.#hasRead = true;
      const commands = this.#apply(entries);
      // Commands from before the start, or from before the topic was lost, are not for this process.
      if (!isNew) for (const command of commands) this.#take(command);
      this.#adoption.adopt();
      await this.#report();
      await this.#sweep();
      this.#problems.end('control-topic');
    } catch (error) {
      if (this.#isClosed) return;
      this.#problems.report({
        key: 'control-topic',
        message: `The control topic '${settings.controlTopic}' cannot be used: this process does not hear commands of the fleet, and does not answer them. Look at the reason, at the rights of the process (READ, WRITE, DESCRIBE, DESCRIBE_CONFIGS), and at the health of the brokers`,
        ended: `The control topic '${settings.controlTopic}' can be used again`,
        context: { instance: this.name, reason: errorReasonOf(error) },
        quietMs: Infinity,
      });
    }
  }

  #beginAgain(): void {
    this.parts.logger.warn(
      'The control topic was truncated or created again. Pauses and stops of the fleet stay as they are in this process; give the commands again so that new processes adopt them',
      { topic: this.parts.settings.controlTopic },
    );
    this.view.clear();
    this.#adoption.forget();
    this.#isChanged = true;
  }

  #apply(
    entries: readonly (readonly [key: string, entry: FleetEntry | undefined])[],
  ): readonly CommandEntry[] {
    const commands: CommandEntry[] = [];
    for (const [key, entry] of entries) {
      this.view.apply(key, entry);
      if (entry?.kind === 'command') commands.push(entry);
      if (entry?.kind === 'instance') this.#checkName(entry);
    }
    return commands;
  }

  #checkName({ at, name, startedAt }: InstanceEntry): void {
    if (name !== this.name || startedAt === this.#startedAt || at <= this.#startedAt) return;
    this.#problems.report({
      key: 'name',
      message: `Another process has the name '${name}' in the fleet, so answers of the two cannot be told apart. Give each process a fleet.instance of its own, or none`,
      ended: `No other process has the name '${name}' in the fleet any more`,
    });
  }

  /** Begins commands in their order, and waits for none of them: a stop may take long. */
  #take(command: CommandEntry): void {
    const { logger, runtime } = this.parts;
    if (!this.#commands.find(command.binding) || this.#seen.has(command.id)) return;
    this.#seen.add(command.id);
    const [oldest] = this.#seen;
    if (this.#seen.size > MOST_SEEN && oldest !== undefined) this.#seen.delete(oldest);
    const late = runtime.now() - command.at - command.validMs;
    if (late > 0) {
      const { id, from, action } = command;
      logger.warn('A command of the fleet came too late and was not obeyed', {
        ...{ binding: command.binding.name, command: action.name, id, from, lateMs: late },
      });
      // A command that was deleted meanwhile has no answers, and nobody would delete this one.
      if (!this.view.hasCommand(id)) return;
      const message = `It was read ${late} ms after the end of its validity.`;
      void this.#answer(command, { result: 'expired', message });
      return;
    }
    this.#adoption.noteCommand(command);
    const { action, by, binding, from, id, reason } = command;
    const note = {
      ...(by !== undefined && { by }),
      ...(reason !== undefined && { reason }),
      fleet: { id, from },
    };
    void this.#commands.run(binding, action, note).then((answer) => this.#answer(command, answer));
  }

  async #answer(
    command: CommandEntry,
    { code, message, result, snapshot }: Omit<OwnAnswer, 'result'> & Pick<AnswerEntry, 'result'>,
  ): Promise<void> {
    const { logger, runtime, topic } = this.parts;
    const now = snapshot ?? this.#snapshotOf(command.binding);
    const answer: AnswerEntry = {
      ...{ kind: 'answer', command: command.id, instance: this.name, result, at: runtime.now() },
      ...(now && { state: now.state, pauses: now.remainingPauses }),
      ...(code !== undefined && { code }),
      ...(message !== undefined && { message }),
    };
    const entries: readonly KeyedFleetEntry[] = [
      [fleetKeys.answer(command.id, this.name), answer],
      // Who has the answer also sees the new state in the list of instances.
      [fleetKeys.instance(this.name), this.ownReport()],
    ];
    await topic.write(entries).catch((error: unknown) =>
      logger.warn('An answer to a command of the fleet could not be written, so it is missing', {
        ...{ command: command.action.name, id: command.id, result },
        reason: errorReasonOf(error),
      }),
    );
  }

  #snapshotOf(binding: FleetBinding) {
    const found = this.#commands.find(binding);
    return found && { state: found.state, remainingPauses: found.pauses };
  }

  /** Describes this process as it is now. */
  ownReport(): InstanceEntry {
    return instanceReport({ ...this.parts, ...this.parts.settings, startedAt: this.#startedAt });
  }

  async #report(): Promise<void> {
    const { runtime, settings, topic } = this.parts;
    const silentMs = runtime.monotonic() - this.#reportedAt;
    const isDue =
      silentMs >= settings.reportIntervalMs || (this.#isChanged && silentMs >= LEAST_REPORT_MS);
    if (!isDue || this.#isClosed) return;
    this.#isChanged = false;
    this.#reportedAt = runtime.monotonic();
    await topic.write([[fleetKeys.instance(this.name), this.ownReport()]]);
  }

  async #sweep(): Promise<void> {
    const { runtime, topic } = this.parts;
    if (runtime.monotonic() - this.#sweptAt < SWEEP_EVERY_MS) return;
    this.#sweptAt = runtime.monotonic();
    const deletions: readonly KeyedFleetEntry[] = this.view.outdated(runtime.now(), this.name);
    if (deletions.length > 0) await topic.write(deletions);
  }
}
