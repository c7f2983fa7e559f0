import type {
  BrokerDriver,
  ConsumerOptions,
  DriverLogger,
  TopicPartition,
} from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { AckMode } from '../../model/states/ack-mode.js';
import type { ListenerType } from '../../model/states/listener-type.js';
import type { Decision, DecisionPlace } from '../../model/outcomes/decision.js';
import type { RecordProcessor } from '../../model/outcomes/outcome.js';
import type { BufferLimit } from '../lanes/buffer-limit.js';
import type { LingeringHandlers } from './lingering-handlers.js';
import type { PauseReason } from '../pauses/pause-reason.js';

export interface ConsumingSessionOptions {
  /** Id of the container: `eventbus-orders`. `sessionIndex` is the index of this session in it. */
  readonly containerId: string;
  readonly sessionIndex: number;
  readonly driver: BrokerDriver;
  readonly consumer: ConsumerOptions;
  readonly settings: ConsumingSettings;
  readonly processor: RecordProcessor;
  /**
   * Shared by the sessions of a container. If left out, the session knows only its own handlers.
   */
  readonly lingering?: LingeringHandlers;
  /** Shared by all sessions of the event bus. */
  readonly bufferLimit: BufferLimit;
  /**
   * True for a retry topic. If it is deleted and created again, the session reads the new topic
   * from its beginning. If false, the partition stops and waits for an operator.
   */
  readonly readsRecreatedTopics?: boolean;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

/** Defines which records of a partition wait for each other: all, those of one key, or none. */
export interface Processing {
  readonly by: 'partition' | 'key' | 'none';
  /** Maximum of concurrent handlers in one session. By `partition`, there is one per partition. */
  readonly maxConcurrency: number;
}

export interface ConsumingSettings {
  readonly ackMode: AckMode;
  /** Awaits every commit before the next record is handed out. */
  readonly strictCommits: boolean;
  /** The processor commits offsets itself, in a transaction with what it writes. */
  readonly isTransactional: boolean;
  readonly listenerType: ListenerType;
  readonly processing: Processing;
  /** Maximum of records in one slice, which is one partition in one poll. */
  readonly maxPollRecords: number;
  /**
   * A handler that runs for longer is reported. The next assignment of its partition stops waiting
   * for it.
   */
  readonly maxPollIntervalMs: number;
  /** A handler that runs for longer is reported, too. */
  readonly stuckHandlerMs: number;
  readonly idleBetweenPollsMs: number;
  /** Time for running handlers after their partition was revoked. */
  readonly rebalanceDrainTimeoutMs: number;
  /** Delay between two deliveries of a record whose handler failed. */
  readonly failureBackoff: { readonly initialMs: number; readonly maxMs: number };
}

/** `failed`: another process has the static member id. The session does not recover by itself. */
export type ConsumingState =
  'idle' | 'joining' | 'joined' | 'retrying' | 'failed' | 'draining' | 'closed';

export interface ConsumingStatus {
  readonly state: ConsumingState;
  /** Milliseconds since 1970. */
  readonly since: number;
  /** The reason for `retrying` or `failed`. */
  readonly error?: Error;
  readonly assignment: readonly TopicPartition[];
  /** Pauses of the whole session. Pauses of single partitions are in `partitionPauses`. */
  readonly pauses: readonly PauseReason[];
  readonly partitionPauses: readonly PartitionPause[];
  readonly runningHandlers: number;
  /** Start of the oldest running handler; undefined when none runs. */
  readonly oldestHandlerSince?: number;
  /** Handlers that run for longer than `stuckHandlerMs`. */
  readonly stuckHandlers: number;
}

/** Pause of a partition. By `key` and by `none`, `delay` and `backoff` concern single records. */
export interface PartitionPause extends TopicPartition {
  readonly reasons: readonly PauseReason[];
  /** Error that made the partition wait, such as the handler's. */
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
  /** Records written to a retry topic. */
  readonly retried: number;
  readonly deadLettered: number;
  readonly failed: number;
  /** Records given back unhandled: by the handler, a pause, a revocation or a shutdown. */
  readonly handedBack: number;
  readonly inFlight: number;
  /** Slices that the safety valve has ended. Their remaining records count as handed back. */
  readonly slicesCut: number;
  /** How often the session left its group because of a handler that exceeded maxPollIntervalMs. */
  readonly membershipsGivenUp: number;
}

export interface DrainReport {
  /** True if everything that was handed out is done and committed. */
  readonly complete: boolean;
  /**
   * Records that will be delivered again, because their handlers ran beyond the deadline or beyond
   * the assignment.
   */
  readonly abandoned: readonly (TopicPartition & { readonly offset: number })[];
}

/** Member of the binding's group, with everything between the poll and the commit. */
export interface ConsumingSession {
  readonly id: string;
  /**
   * Resolves once the session has joined. An unreachable cluster or a missing topic is a status,
   * and the session keeps trying. A consumer session that fails for good is replaced after a
   * backoff. Rejects with ClosedError if the session is closed before it joined, and with
   * StaticMemberFencedError if another process takes its static member id before.
   */
  start(): Promise<void>;
  /**
   * Pauses, then commits what is done, within a time limit. After it resolves, no record reaches a
   * handler, buffered records included. Running handlers may finish.
   */
  pause(reason: PauseReason): Promise<void>;
  /**
   * Removes the reason and returns the remaining ones. With none left, reading goes on after the
   * records that are completed or in flight.
   */
  resume(reason: PauseReason): readonly PauseReason[];
  /**
   * Ends the reason `strict` of a partition: the record is handed out again, with the decision
   * unless that is `retry`. With its offset, the record may also be one that failed and holds its
   * partition in `backoff` or behind an open circuit. Returns false if no such record waits here.
   */
  decide(place: DecisionPlace, decision: Decision): boolean;
  /**
   * Hands out nothing more, waits at most `drainMs` for running handlers, commits what is done and
   * leaves the group. Idempotent: the first deadline holds, and every call gets the same report.
   */
  close(options?: { readonly drainMs?: number }): Promise<DrainReport>;
  readonly status: ConsumingStatus;
  onStatusChange(listener: () => void): () => void;
  readonly counts: RecordCounts;
}

export type ConsumingSessionFactory = (options: ConsumingSessionOptions) => ConsumingSession;
