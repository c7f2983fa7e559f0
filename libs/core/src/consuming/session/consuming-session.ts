import type {
  BrokerDriver,
  ConsumerOptions,
  DriverLogger,
  PartitionError,
  TopicPartition,
} from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type {
  EventBusTracer,
  TracedContainer,
} from '../../model/extension-points/event-bus-tracer.js';
import type { AckMode } from '../../model/states/ack-mode.js';
import type { ListenerType } from '../../model/states/listener-type.js';
import type { Decision, DecisionPlace } from '../../model/outcomes/decision.js';
import type { OnTopicRecreated } from '../../model/states/on-topic-recreated.js';
import type { RecordProcessor } from '../../model/outcomes/outcome.js';
import type { LaneView } from '../../model/states/lane-view.js';
import type { BufferLimit } from '../lanes/buffer-limit.js';
import type { ContainerMeasures } from '../measures/container-measures.js';
import type { LingeringHandlers } from './lingering-handlers.js';
import type { PauseReason } from '../pauses/pause-reason.js';

/** The tracer, and the container for which it traces. */
export interface SessionTracing {
  readonly tracer: Pick<EventBusTracer, 'polled' | 'settled'>;
  readonly container: TracedContainer;
}

export interface ConsumingSessionOptions {
  /**
   * Id of the container: `eventbus-orders`. `sessionIndex` is the index of this session in the
   * container.
   */
  readonly containerId: string;
  readonly sessionIndex: number;
  readonly driver: BrokerDriver;
  readonly consumer: ConsumerOptions;
  readonly settings: ConsumingSettings;
  readonly processor: RecordProcessor;
  /**
   * Running handlers that the sessions of a container share. If omitted, the session knows only its
   * own handlers.
   */
  readonly lingering?: LingeringHandlers;
  /** Buffer limit, which all sessions of the event bus share. */
  readonly bufferLimit: BufferLimit;
  /** Traces polls and commits. Omitted if nothing is traced. */
  readonly tracing?: SessionTracing | undefined;
  /** Measures of the container. Omitted if metrics are disabled. */
  readonly measures?: ContainerMeasures | undefined;
  /** What happens if the topic is deleted and created again. Default `'stop'`. */
  readonly onTopicRecreated?: OnTopicRecreated;
  /** Gets the partitions of the session. Omitted in tests that do not examine partitions. */
  readonly partitions?: PartitionObserver;
  /** Called with the state at each change of the status. It must be cheap. */
  readonly onState?: (current: CurrentState) => void;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

/**
 * Defines which records of a partition wait for each other: all of them, those with the same key,
 * or none.
 */
export interface Processing {
  readonly by: 'partition' | 'key' | 'none';
  /**
   * Maximum of concurrent handlers in one session. With `partition`, at most one handler runs per
   * partition.
   */
  readonly maxConcurrency: number;
}

/** Gets the changes to the partitions of a session. Never throws. */
export interface PartitionObserver {
  onAssigned(partitions: readonly TopicPartition[]): void;
  /** Called when the partitions are released. `isLost`: another member had the partitions already. */
  onRevoked(partitions: readonly TopicPartition[], isLost: boolean): void;
  /** Called when a partition cannot be read any further. */
  onStopped(error: PartitionError): void;
}

export interface ConsumingSettings {
  readonly ackMode: AckMode;
  /** True if every commit is awaited before the next record is handed out. */
  readonly strictCommits: boolean;
  /**
   * True if the processor commits offsets itself, in a transaction with the records that it writes.
   */
  readonly isTransactional: boolean;
  readonly listenerType: ListenerType;
  readonly processing: Processing;
  /** Maximum of records in one slice. A slice has records of one partition from one poll. */
  readonly maxPollRecords: number;
  /**
   * A handler that runs longer is reported, its session leaves the group, and the next assignment
   * of its partition no longer waits for it.
   */
  readonly maxPollIntervalMs: number;
  /** A handler that runs longer is reported. */
  readonly stuckHandlerMs: number;
  readonly idleBetweenPollsMs: number;
  /** Time that running handlers get after their partition was revoked. */
  readonly rebalanceDrainTimeoutMs: number;
  /** Delay between two deliveries of a record whose handler failed. */
  readonly failureBackoff: { readonly initialMs: number; readonly maxMs: number };
}

/** `failed`: another process has the static member id. The session does not recover by itself. */
export type ConsumingState =
  'idle' | 'joining' | 'joined' | 'retrying' | 'failed' | 'draining' | 'closed';

/** State of a session, with the error because of which it does not consume. */
export interface CurrentState {
  readonly state: ConsumingState;
  readonly error?: Error;
}

export interface ConsumingStatus {
  readonly state: ConsumingState;
  /** Milliseconds since 1970. */
  readonly since: number;
  /** Error behind the state `retrying` or `failed`. */
  readonly error?: Error;
  readonly assignment: readonly TopicPartition[];
  /** Pauses of the whole session. Pauses of single partitions are in `partitionPauses`. */
  readonly pauses: readonly PauseReason[];
  readonly partitionPauses: readonly PartitionPause[];
  readonly runningHandlers: number;
  /** Start of the oldest running handler; undefined when none runs. */
  readonly oldestHandlerSince?: number;
  /** Number of handlers that run for longer than `stuckHandlerMs`. */
  readonly stuckHandlers: number;
}

/**
 * Pause of a partition. With processing by `key` or `none`, the reasons `delay` and `backoff`
 * concern single records.
 */
export interface PartitionPause extends TopicPartition {
  readonly reasons: readonly PauseReason[];
  /** Error because of which the partition waits, for example the handler's. */
  readonly error?: Error;
  /** Offset of the record that waits for a decision, with the reason `strict`. */
  readonly undecidedOffset?: number;
}

/**
 * Invariant: received = succeeded + discarded + retried + deadLettered + failed + handedBack +
 * inFlight. A redelivered record is received again.
 */
export interface RecordCounts {
  readonly received: number;
  readonly succeeded: number;
  readonly discarded: number;
  /** The discarded records that were handled before. They are part of `discarded`. */
  readonly duplicates: number;
  /** Records written to a retry topic. */
  readonly retried: number;
  readonly deadLettered: number;
  readonly failed: number;
  /**
   * Records that were handed back unfinished: by the handler, a pause, a revocation or a shutdown.
   */
  readonly handedBack: number;
  readonly inFlight: number;
  /**
   * Slices that ended because they took too long. Their unfinished records count as handed back.
   */
  readonly slicesCut: number;
  /** How often the session left its group because of a handler that exceeded maxPollIntervalMs. */
  readonly membershipsGivenUp: number;
}

export interface DrainReport {
  /** True if every record that was handed out is done and committed. */
  readonly complete: boolean;
  /**
   * Records that will be delivered again, because their handlers ran beyond the deadline, or beyond
   * their assignment.
   */
  readonly abandoned: readonly (TopicPartition & { readonly offset: number })[];
}

/** Member of the binding's group: polls records, hands them to the processor and commits them. */
export interface ConsumingSession {
  readonly id: string;
  /**
   * Resolves once the session has joined. If the cluster is unreachable or the topic is missing,
   * the session keeps trying, and its status shows the error. A consumer session that fails for
   * good is replaced after a backoff. Rejects with ClosedError if the session is closed before it
   * has joined, and with StaticMemberFencedError if another process takes its static member id
   * before.
   */
  start(): Promise<void>;
  /**
   * Pauses, then commits completed records within a time limit. After the promise resolves, no
   * record reaches a handler, not even a buffered one. Running handlers may finish.
   */
  pause(reason: PauseReason): Promise<void>;
  /**
   * Removes the reason and returns the remaining ones. If none remains, reading continues after the
   * records that are completed or in flight.
   */
  resume(reason: PauseReason): readonly PauseReason[];
  /**
   * Applies a decision to the record for which a partition waits with the reason `strict`. The
   * record is handed out again, with the decision unless that is `retry`. If `place` has an offset,
   * the record may also be a failed one that waits for its backoff or for its circuit. Returns
   * false if no such record waits in this session.
   */
  decide(place: DecisionPlace, decision: Decision): boolean;
  /**
   * Stops handing out, waits at most `drainMs` for running handlers, commits completed records and
   * leaves the group. Idempotent: the first deadline applies, and every call gets the same report.
   */
  close(options?: { readonly drainMs?: number }): Promise<DrainReport>;
  readonly status: ConsumingStatus;
  /** Progress of the owned partitions at this moment. */
  readonly lanes: readonly LaneView[];
  onStatusChange(listener: () => void): () => void;
  readonly counts: RecordCounts;
  /** Approximate memory of the records that were received and are not finished. */
  readonly bufferedBytes: number;
}

export type ConsumingSessionFactory = (options: ConsumingSessionOptions) => ConsumingSession;
