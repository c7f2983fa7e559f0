import type { TopicPartition } from '@nest-event-bus/broker';
import type { ErrorDescription } from '../outcomes/failure-report.js';
import type { DltCause, DltReason } from '../records/dlt-record.js';
import type { DeliveryAttempt } from '../records/event-context.js';
import type { CircuitTransition } from '../states/circuit-breaker.js';
import type { ContainerState } from '../states/container-state.js';
import type { AdminCommandName } from './admin-command.js';
import type { AlertLevel, AlertState } from '../states/lag-alert.js';
import type { LagStatus } from '../states/lag.js';
import type { RecordPosition } from './record-position.js';
import type { RedriveEventMap } from './redrive-events.js';

/** What every event says. */
export interface BusEventBase<Name extends string> {
  readonly name: Name;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly binding: string;
  readonly cluster: string;
}

/** What every event about a record says. No event has a payload, a key or a header. */
interface RecordEvent<Name extends string> extends BusEventBase<Name> {
  readonly groupId: string;
  /** The position in the topic from which the record was read. */
  readonly record: RecordPosition;
  /** The position at which the record was first written. */
  readonly origin: RecordPosition;
}

/** What every event about a call of the handler says. */
interface AttemptEvent<Name extends string> extends RecordEvent<Name> {
  /** Numbers of the last call. `call` is 0 if the handler was not called. */
  readonly attempt: DeliveryAttempt;
}

/** An error, as far as `dlt.exceptionDetail` and `dlt.redact` allow. */
export interface EventException extends Pick<
  ErrorDescription,
  'className' | 'causeClassName' | 'message' | 'stack'
> {
  /** Identifies the error: the same for the same class and message. */
  readonly fingerprint: string;
}

/** The next call within the same delivery. */
export interface CallAgain {
  /** Its number, from 2. */
  readonly call: number;
  /** The number of calls that `retry` allows. */
  readonly of: number;
  readonly inMs: number;
}

/** What happens to a record after a failure. */
export type NextStep =
  /** The handler is called again within this delivery. */
  | ({ readonly kind: 'call-again' } & CallAgain)
  /** The record stays in its place. Without `inMs`, its partition was taken away meanwhile. */
  | { readonly kind: 'redeliver'; readonly inMs?: number }
  | {
      readonly kind: 'retry';
      readonly topic: string;
      readonly tier: number;
      readonly delivery: number;
      /** Milliseconds since 1970. */
      readonly dueAt: number;
    }
  | {
      readonly kind: 'dead-letter';
      readonly topic: string;
      readonly reason: DltReason;
      readonly cause: DltCause;
    }
  /** A `@DltHandler` has discarded the record. */
  | { readonly kind: 'discard' }
  /** The partition waits for `connector.decide()`. */
  | { readonly kind: 'wait-for-decision' }
  /** The binding is paused, and the record stays in its place. */
  | { readonly kind: 'pause-binding' };

/** A call of the handler failed, or the record could not be prepared for it. */
export interface RecordFailed extends AttemptEvent<'record.failed'> {
  readonly exception: EventException;
  readonly next: NextStep;
  /** True if the record is given up, or waits for an operator. */
  readonly isFinal: boolean;
}

/** A retry topic has acknowledged the record. */
export interface RecordRetried extends AttemptEvent<'record.retried'> {
  readonly exception: EventException;
  readonly topic: string;
  readonly tier: number;
  readonly delivery: number;
  /** Milliseconds since 1970. */
  readonly dueAt: number;
}

/** The dead-letter topic has acknowledged the record. */
export interface RecordDeadLettered extends AttemptEvent<'record.dead-lettered'> {
  readonly exception: EventException;
  readonly topic: string;
  readonly reason: DltReason;
  readonly cause: DltCause;
  readonly isPoison: boolean;
  /** Milliseconds since 1970. */
  readonly firstFailureAt: number;
}

/** The record is done without its handler: filtered, a duplicate, skipped, or not wanted. */
export interface RecordDiscarded extends RecordEvent<'record.discarded'> {
  readonly reason: string;
}

/** The handler has succeeded with a record that had failed before. */
export type RecordRecovered = AttemptEvent<'record.recovered'>;

export interface CircuitChanged
  extends
    BusEventBase<'circuit.changed'>,
    Pick<CircuitTransition, 'from' | 'to' | 'cause' | 'figures'> {
  /** True if the binding is paused while the circuit is open. */
  readonly pausesBinding: boolean;
}

/** Who gave the command, and why, if that was said. */
interface Commanded {
  readonly reason: string | undefined;
  readonly by: string | undefined;
}

/** The state of a binding has changed, by a command or by itself. */
export interface BindingChanged extends BusEventBase<'binding.changed'>, Commanded {
  readonly from: ContainerState;
  readonly to: ContainerState;
}

/** A reason to pause was added. */
export interface BindingPaused extends BusEventBase<'binding.paused'>, Commanded {
  readonly pause: BindingPauseReason;
  /** All reasons for which the binding is paused now. */
  readonly pauses: readonly BindingPauseReason[];
}

/** The last reason to pause was removed, and the binding reads again. */
export interface BindingResumed extends BusEventBase<'binding.resumed'>, Commanded {
  /** The reasons for which the binding was paused. */
  readonly pauses: readonly BindingPauseReason[];
}

type BindingPauseReason = 'operator' | 'circuit' | 'routing';

/** Properties of every event about a session. A session is one member of a consumer group. */
interface SessionEvent<Name extends string> extends BusEventBase<Name> {
  /** Id of the session: `eventbus-orders-0`. */
  readonly session: string;
  readonly groupId: string;
  readonly tier: number;
}

export interface PartitionsAssigned extends SessionEvent<'partitions.assigned'> {
  readonly partitions: readonly TopicPartition[];
}

export interface PartitionsRevoked extends SessionEvent<'partitions.revoked'> {
  readonly partitions: readonly TopicPartition[];
  /** True if another member had the partitions already, so that no offset could be committed. */
  readonly isLost: boolean;
}

/** A partition cannot be read any further: it was recreated or truncated, or a batch is damaged. */
export interface PartitionStopped extends SessionEvent<'partition.stopped'> {
  readonly topic: string;
  readonly partition: number;
  /** Decimal text; undefined if it is not known. */
  readonly offset: string | undefined;
  readonly code: string;
}

/** A session does not consume: it lost its membership, or the cluster does not answer. */
export interface SessionFailed extends SessionEvent<'session.failed'> {
  /** Class of the error. Its text is in the log. */
  readonly exceptionClass: string;
  /** True if the session does not recover by itself. */
  readonly isPermanent: boolean;
}

export interface SessionRecovered extends SessionEvent<'session.recovered'> {
  /** Time without consuming, in milliseconds. */
  readonly failedForMs: number;
}

/** A retry or dead-letter topic cannot be written to. Its records stay in their place. */
export interface TopicWriteFailed extends BusEventBase<'topic.write-failed'> {
  readonly topic: string;
  readonly exceptionClass: string;
}

export interface TopicWriteRecovered extends BusEventBase<'topic.write-recovered'> {
  readonly topic: string;
  readonly failedForMs: number;
}

/** An operator has given a command with `EventBusAdmin` or the admin API. */
export interface AdminCommand extends BusEventBase<'admin.command'>, Commanded {
  readonly command: AdminCommandName;
  readonly outcome: 'done' | 'failed';
  /** The code of the error. */
  readonly code?: string | undefined;
  /** The command of the fleet that this process obeys; undefined if it was given to this process. */
  readonly fleet?: { readonly id: string; readonly from: string } | undefined;
}

/** The level of an alert has changed: lag or age of a topic is above a threshold, or below again. */
export interface LagAlertRaised extends BusEventBase<'lag.alert'>, AlertState {
  readonly previous: AlertLevel;
  /** Status of the group, and its cause; undefined for dead letters. */
  readonly status: LagStatus | undefined;
  readonly cause: string | undefined;
}

/** The events of the bus by their names. */
export interface EventBusEventMap extends RedriveEventMap {
  readonly 'record.failed': RecordFailed;
  readonly 'record.retried': RecordRetried;
  readonly 'record.dead-lettered': RecordDeadLettered;
  readonly 'record.discarded': RecordDiscarded;
  readonly 'record.recovered': RecordRecovered;
  readonly 'circuit.changed': CircuitChanged;
  readonly 'binding.changed': BindingChanged;
  readonly 'binding.paused': BindingPaused;
  readonly 'binding.resumed': BindingResumed;
  readonly 'partitions.assigned': PartitionsAssigned;
  readonly 'partitions.revoked': PartitionsRevoked;
  readonly 'partition.stopped': PartitionStopped;
  readonly 'session.failed': SessionFailed;
  readonly 'session.recovered': SessionRecovered;
  readonly 'topic.write-failed': TopicWriteFailed;
  readonly 'topic.write-recovered': TopicWriteRecovered;
  readonly 'admin.command': AdminCommand;
  readonly 'lag.alert': LagAlertRaised;
}

export type EventBusEventName = keyof EventBusEventMap;

/** An event of the bus. `name` says which one. */
export type EventBusEvent<Name extends EventBusEventName = EventBusEventName> =
  EventBusEventMap[Name];

/** The names as a table, so that the compiler finds a missing one. */
const NAMES: Readonly<Record<EventBusEventName, true>> = {
  'record.failed': true,
  'record.retried': true,
  'record.dead-lettered': true,
  'record.discarded': true,
  'record.recovered': true,
  'circuit.changed': true,
  'binding.changed': true,
  'binding.paused': true,
  'binding.resumed': true,
  'partitions.assigned': true,
  'partitions.revoked': true,
  'partition.stopped': true,
  'session.failed': true,
  'session.recovered': true,
  'topic.write-failed': true,
  'topic.write-recovered': true,
  'admin.command': true,
  'lag.alert': true,
  'redrive.started': true,
  'redrive.canary-decided': true,
  'redrive.approved': true,
  'redrive.braked': true,
  'redrive.resumed': true,
  'redrive.ended': true,
};

export const EVENT_BUS_EVENT_NAMES: readonly EventBusEventName[] = Object.freeze(
  Object.keys(NAMES) as EventBusEventName[],
);
