import type { BrokerDriver, DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { RuntimeValue } from '../config/runtime-keys.js';
import type { TopicBindingProperties } from '../config/properties/topic-binding-properties.js';
import type {
  BindingSnapshot,
  ContainerRegistration,
} from '../containers/container-registration.js';
import type { ContainerRegistry, PublishedBinding } from '../containers/container-registry.js';
import type { EventBusHealth } from '../containers/health/event-bus-health.js';
import type {
  DeclaredRegistration,
  EventBusConnector,
  RecordToDecide,
} from '../containers/lifecycle/event-bus-connector.js';
import type { CommandNote, LifecycleManager } from '../containers/lifecycle/lifecycle-manager.js';
import type { ShutdownGate } from '../containers/shutdown/shutdown-gate.js';
import type { FleetAction } from '../fleet/fleet-entry.js';
import type { FleetAnswer, FleetState } from '../fleet/fleet-answer.js';
import type { Fleet, FleetCommandOptions } from '../fleet/fleet.js';
import type { FleetNote } from '../fleet/own-commands.js';
import type { EventSink } from '../model/events/event-sink.js';
import type { Decision } from '../model/outcomes/decision.js';
import type { BindingRef } from '../model/states/binding-ref.js';
import type { DltReplayService, RedriveAction } from '../redrive/dlt-replay-service.js';
import type {
  DeadLetterPage,
  ListedDeadLetter,
  ListOptions,
} from '../redrive/letters/list-letters.js';
import type { DeadLetterPosition } from '../redrive/letters/read-letters.js';
import type { EditReport } from '../redrive/editing/edit-and-replay.js';
import type { LetterEdit } from '../redrive/editing/letter-edit.js';
import type { LettersToMark, MarkReport } from '../redrive/marking/mark-letters.js';
import type { RedrivePlan } from '../redrive/planning/redrive-plan.js';
import type { PurgeReport } from '../redrive/purging/purge-report.js';
import type { PurgeRequest, RedriveRequest } from '../redrive/redrive-request.js';
import type { DltStats } from '../redrive/stats/dlt-stats.js';
import type { DltStatsOptions, DltStatsService } from '../redrive/stats/dlt-stats-service.js';
import { BindingCommands } from './binding-commands.js';
import {
  BindingConfigurations,
  type BindingConfiguration,
  type BindingConfigurationParts,
} from './binding-configuration.js';
import { CommandAudit } from './command-audit.js';
import { findLetter } from './find-letter.js';
import { mainTopicLag } from './main-topic-lag.js';
import {
  AdminOperations,
  type AdminOperation,
  type OperationPace,
  type OperationRequest,
} from './admin-operations.js';

export interface EventBusAdminParts {
  readonly registry: ContainerRegistry;
  readonly connector: EventBusConnector;
  readonly lifecycle: LifecycleManager;
  readonly fleet: Fleet;
  readonly sourcesOf: BindingConfigurationParts['sourcesOf'];
  readonly prepareChange: BindingConfigurationParts['prepareChange'];
  readonly replay: DltReplayService;
  readonly deadLetterStats: DltStatsService;
  readonly shutdownGate: ShutdownGate;
  readonly driverOf: (cluster: string) => BrokerDriver;
  readonly hub: EventSink;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

/** How a command is given. */
export interface ScopedCommandOptions extends FleetCommandOptions {
  /** Default: `'fleet'` if a control topic is configured. */
  readonly scope?: 'process' | 'fleet';
}

/** The result of a command. */
export interface CommandOutcome {
  /** The binding in this process. */
  readonly binding: BindingSnapshot;
  /** Undefined if only this process was told. */
  readonly fleet?: FleetAnswer;
}

/** All bindings of this process. */
export interface BindingList {
  readonly bindings: readonly BindingSnapshot[];
  /** Bindings to which the application only publishes. They take no commands. */
  readonly published: readonly PublishedBinding[];
}

/** A binding with the figures of its main topic. */
export interface BindingView {
  readonly registration: ContainerRegistration;
  readonly health: EventBusHealth['bindings'][number] | undefined;
  /** Records that the group has not committed; undefined if the brokers did not answer in time. */
  readonly lag: number | undefined;
}

/**
 * Everything that an operator can do with the bus. Each command returns the new state, takes who and
 * why, and is audited: in the log, and as the event `admin.command`. During a shutdown, each command
 * is refused.
 */
export class EventBusAdmin {
  readonly #audit: CommandAudit;
  readonly #commands: BindingCommands;
  readonly #configurations: BindingConfigurations;
  readonly #operations: AdminOperations;

  constructor(private readonly parts: EventBusAdminParts) {
    this.#audit = new CommandAudit(parts);
    this.#commands = new BindingCommands({ ...parts, audit: this.#audit });
    this.#configurations = new BindingConfigurations(parts);
    this.#operations = new AdminOperations(parts);
  }

  /** The time of the bus, in milliseconds since 1970. */
  now(): number {
    return this.parts.runtime.now();
  }

  listBindings(): BindingList {
    const { connector } = this.parts;
    return { bindings: connector.listBindings(), published: connector.listPublishedBindings() };
  }

  /** Returns the state of a binding with its containers, and asks the brokers for its lag. */
  async binding(ref: BindingRef): Promise<BindingView> {
    const { connector, driverOf, registry, runtime } = this.parts;
    const registration = registry.require(ref);
    const { bindingName, cluster, config } = registration;
    const lag = await mainTopicLag(driverOf(cluster), config, runtime);
    const health = connector
      .health()
      .bindings.find((each) => each.binding === bindingName && each.cluster === cluster);
    return { registration, health, lag };
  }

  health(): EventBusHealth {
    return this.parts.connector.health();
  }

  /** Registers a binding whose records are handled by declared `@EventHandler` methods. */
  register(
    name: string,
    properties: TopicBindingProperties,
    options: DeclaredRegistration = {},
  ): Promise<BindingSnapshot> {
    const { cluster } = options;
    const ref = cluster === undefined ? name : { cluster, name };
    return this.#audit.command('register', ref, options, () =>
      this.parts.connector.registerDeclared(name, properties, options),
    );
  }

  /** Stops a running binding and removes it. */
  unregister(ref: BindingRef, note: CommandNote = {}): Promise<BindingSnapshot> {
    return this.#audit.command('unregister', ref, note, () =>
      this.parts.connector.unregister(ref, note),
    );
  }

  start(ref: BindingRef, note: CommandNote = {}): Promise<BindingSnapshot> {
    return this.#commands.give({ name: 'start' }, ref, note);
  }

  stop(ref: BindingRef, note: CommandNote = {}): Promise<BindingSnapshot> {
    return this.#commands.give({ name: 'stop' }, ref, note);
  }

  pause(ref: BindingRef, note: CommandNote = {}): Promise<BindingSnapshot> {
    return this.#commands.give({ name: 'pause' }, ref, note);
  }

  resume(ref: BindingRef, note: CommandNote = {}): Promise<BindingSnapshot> {
    return this.#commands.give({ name: 'resume' }, ref, note);
  }

  pauseTier(ref: BindingRef, tier: number, note: CommandNote = {}): Promise<BindingSnapshot> {
    return this.#commands.give({ name: 'pause-tier', tier }, ref, note);
  }

  resumeTier(ref: BindingRef, tier: number, note: CommandNote = {}): Promise<BindingSnapshot> {
    return this.#commands.give({ name: 'resume-tier', tier }, ref, note);
  }

  /**
   * Gives a command to every process that has the binding, if a control topic is configured, and to
   * this process otherwise. The answer says which processes have done it.
   */
  async command(
    action: FleetAction,
    ref: BindingRef,
    { scope, ...options }: ScopedCommandOptions = {},
  ): Promise<CommandOutcome> {
    const { connector, fleet } = this.parts;
    if (scope === 'process' || (scope === undefined && !fleet.isConfigured))
      return { binding: await this.#commands.give(action, ref, options) };
    const answer = await fleet.command(action, ref, options);
    return { binding: connector.getState(ref), fleet: answer };
  }

  /** Shows the options of a binding in this process, and where their values come from. */
  configuration(ref: BindingRef): BindingConfiguration {
    const binding = this.parts.connector.getState(ref);
    return { binding, options: this.#configurations.show(ref) };
  }

  /**
   * Changes options of a binding in this process until it ends, checked as at the start. A running
   * binding drains and joins its group again. Null ends an earlier change.
   */
  async configure(
    ref: BindingRef,
    changes: Readonly<Record<string, RuntimeValue | null>>,
    note: CommandNote = {},
  ): Promise<BindingConfiguration> {
    await this.#audit.command('configure', ref, note, () =>
      this.#configurations.change(ref, changes, note),
    );
    return this.configuration(ref);
  }

  /** Obeys a command of the fleet in this process. */
  obey(action: FleetAction, ref: BindingRef, note: FleetNote): Promise<BindingSnapshot> {
    return this.#commands.give(action, ref, note);
  }

  /** Describes the processes of the fleet; without a control topic, this one. */
  instances(): Promise<FleetState> {
    return this.parts.fleet.state();
  }

  /** Decides about the record for which a partition waits. */
  decide(
    ref: BindingRef,
    record: RecordToDecide,
    decision: Decision,
    note: CommandNote = {},
  ): Promise<BindingSnapshot> {
    const { offset, partition, topic } = record;
    const place = { topic, partition, ...(offset !== undefined && { offset: String(offset) }) };
    return this.#commands.give({ name: 'decide', ...place, decision }, ref, note);
  }

  /** Lists dead letters, and changes nothing. */
  deadLetters(ref: BindingRef, options: ListOptions = {}): Promise<DeadLetterPage> {
    return this.parts.replay.list(ref, options);
  }

  /** Returns one dead letter with its payload. */
  deadLetter(ref: BindingRef, position: DeadLetterPosition): Promise<ListedDeadLetter> {
    return findLetter(this.parts.replay, ref, position);
  }

  deadLetterStats(ref: BindingRef, options: DltStatsOptions = {}): Promise<DltStats> {
    return this.parts.deadLetterStats.stats(ref, options);
  }

  /** Says what a redrive would do, and replays nothing. */
  plan(ref: BindingRef, request: RedriveRequest): Promise<RedrivePlan> {
    return this.#audit.command('plan', ref, request, () => this.parts.replay.plan(ref, request));
  }

  /**
   * Plans a redrive and starts it, unless `dryRun` is true. Returns at once. A second request with
   * the same id returns the operation of the first.
   */
  startOperation(ref: BindingRef, request: OperationRequest): Promise<AdminOperation> {
    return this.#audit.command('start-operation', ref, request, () =>
      this.#operations.start(ref, request),
    );
  }

  /** Runs a plan, or resumes it after a crash. Returns at once. */
  runOperation(
    ref: BindingRef,
    id: string,
    options: CommandNote & OperationPace = {},
  ): Promise<AdminOperation> {
    return this.#audit.command('run-operation', ref, options, () =>
      this.#operations.run(ref, id, options),
    );
  }

  /**
   * Plans a redrive, runs it and waits for its end, at most `waitMs`. After that time the operation
   * goes on.
   */
  replay(ref: BindingRef, request: OperationRequest, waitMs: number): Promise<AdminOperation> {
    return this.#audit.command('replay', ref, request, () =>
      this.#operations.replay(ref, request, waitMs),
    );
  }

  operation(ref: BindingRef, id: string): Promise<AdminOperation> {
    return this.#operations.find(ref, id);
  }

  operations(ref: BindingRef): Promise<readonly AdminOperation[]> {
    return this.#operations.list(ref);
  }

  /** Yields the operation now and after each change, until it ends or the signal aborts. */
  follow(ref: BindingRef, id: string, signal: AbortSignal): AsyncGenerator<AdminOperation, void> {
    return this.#operations.follow(ref, id, signal);
  }

  /**
   * Lets the rest of an operation follow its canary, on whatever node it runs. A bad canary cannot be
   * approved.
   */
  approveOperation(ref: BindingRef, id: string, note: CommandNote = {}): Promise<AdminOperation> {
    return this.#audit.command('approve-operation', ref, note, () =>
      this.#operations.approve(ref, id, note),
    );
  }

  /** Cancels an operation on all nodes. What was replayed stays replayed. */
  cancelOperation(ref: BindingRef, id: string, note: CommandNote = {}): Promise<AdminOperation> {
    return this.#audit.command('cancel-operation', ref, note, () =>
      this.#operations.cancel(ref, id, note),
    );
  }

  /** Gives open letters up, or opens letters again. */
  mark(
    ref: BindingRef,
    letters: LettersToMark,
    status: 'permanently-failed' | 'open',
    note: CommandNote & { readonly reason: string },
  ): Promise<MarkReport> {
    const { replay } = this.parts;
    return this.#audit.command('mark', ref, note, () =>
      status === 'open'
        ? replay.reopen(ref, letters, note)
        : replay.markPermanentlyFailed(ref, letters, note),
    );
  }

  /** Replays one open letter with another value, key or headers. */
  edit(
    ref: BindingRef,
    position: DeadLetterPosition,
    edit: LetterEdit,
    note: CommandNote & { readonly reason: string },
  ): Promise<EditReport> {
    const { replay } = this.parts;
    return this.#audit.command('edit', ref, note, () =>
      replay.editAndReplay(ref, position, edit, note),
    );
  }

  /** Deletes the oldest letters, by time or by plan. */
  purge(ref: BindingRef, request: PurgeRequest): Promise<PurgeReport> {
    return this.#audit.command('purge', ref, request, () => this.parts.replay.purge(ref, request));
  }

  /** Returns all marks and purges that the ledger knows, the latest first. */
  actions(ref: BindingRef): Promise<readonly RedriveAction[]> {
    return this.parts.replay.actions(ref);
  }
}
