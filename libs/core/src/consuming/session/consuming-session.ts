import type {
  BrokerDriver,
  ConsumerOptions,
  DriverLogger,
  TopicPartition,
} from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { AckMode } from '../../model/states/ack-mode.js';
import type { ListenerType } from '../../model/states/listener-type.js';
import type { Decision, DecisionPlace } from '../../model/outcomes/delivery.js';
import type { RecordProcessor } from '../../model/outcomes/outcome.js';
import type { BufferLimit } from '../lanes/buffer-limit.js';
import type { LingeringHandlers } from './lingering-handlers.js';
import type { PauseReason } from '../pauses/pause-reason.js';

export interface ConsumingSessionOptions {
  /** Of the container, with the index of this session in it: `eventbus-orders`, 0. */
  readonly containerId: string;
  readonly sessionIndex: number;
  readonly driver: BrokerDriver;
  readonly consumer: ConsumerOptions;
  readonly settings: ConsumingSettings;
  readonly processor: RecordProcessor;
  /** Of the container, whose sessions share it. Left out: the session knows of itself only. */
  readonly lingering?: LingeringHandlers;
  /** Of the event bus, whose sessions share it. */
  readonly bufferLimit: BufferLimit;
  /**
   * A topic that was created in the place of its own is read, from its beginning. Left out: the
   * partition stops, and waits for an operator.
   */
  readonly readsRecreatedTopics?: boolean;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

/** Which records of a partition wait for each other: all, those of one key, or none. */
export interface Processing {
  readonly by: 'partition' | 'key' | 'none';
  /** Handlers at work in one session; by partition there is one for each partition. */
  readonly maxConcurrency: number;
}

export interface ConsumingSettings {
  readonly ackMode: AckMode;
  /** Every commit is awaited before the next record is handed out. */
  readonly strictCommits: boolean;
  /** The processor commits offsets itself, with what it writes. */
  readonly isTransactional: boolean;
  readonly listenerType: ListenerType;
  readonly processing: Processing;
  /** Of one slice, that is of one partition in one poll. */
  readonly maxPollRecords: number;
  /** A running handler that is older is reported, and whatever waits for one of an earlier assignment waits no longer. */
  readonly maxPollIntervalMs: number;
  /** So is one that is older than this. */
  readonly stuckHandlerMs: number;
  readonly idleBetweenPollsMs: number;
  /** How long handlers may go on after their partition was asked back. */
  readonly rebalanceDrainTimeoutMs: number;
  /** Between two deliveries of a record whose handler failed. */
  readonly failureBackoff: { readonly initialMs: number; readonly maxMs: number };
}

/** `failed`: another process has its static member id, and it does not come back by itself. */
export type ConsumingState =
  'idle' | 'joining' | 'joined' | 'retrying' | 'failed' | 'draining' | 'closed';

export interface ConsumingStatus {
  readonly state: ConsumingState;
  /** Milliseconds since 1970. */
  readonly since: number;
  /** Why it is retrying, or has failed. */
  readonly error?: Error;
  readonly assignment: readonly TopicPartition[];
  /** Of the whole session; what keeps single partitions is in `partitionPauses`. */
  readonly pauses: readonly PauseReason[];
  readonly partitionPauses: readonly PartitionPause[];
  readonly runningHandlers: number;
  /** The oldest running handler began then; undefined when none runs. */
  readonly oldestHandlerSince?: number;
  /** Handlers that run for longer than `stuckHandlerMs`. */
  readonly stuckHandlers: number;
}

/** By `key` and by `none` single records wait, with `delay` or `backoff`: the others of the partition go on. */
export interface PartitionPause extends TopicPartition {
  readonly reasons: readonly PauseReason[];
  /** What made the partition wait, e.g. the handler's error. */
  readonly error?: Error;
  /** With the reason `strict`: of the record that waits for a decision. */
  readonly undecidedOffset?: number;
}

/**
 * At any moment: received = succeeded + discarded + retried + deadLettered + failed + handedBack +
 * inFlight. A redelivered record is received again.
 */
export interface RecordCounts {
  readonly received: number;
  readonly succeeded: number;
  readonly discarded: number;
  /** Written to a retry topic. */
  readonly retried: number;
  readonly deadLettered: number;
  readonly failed: number;
  /** Given back unhandled: by the handler, by a pause, by a revocation, at shutdown. */
  readonly handedBack: number;
  readonly inFlight: number;
  /** Slices that the safety valve has ended; what waited in them counts as handed back. */
  readonly slicesCut: number;
  /** Times that the session left its group because of a handler that exceeded maxPollIntervalMs. */
  readonly membershipsGivenUp: number;
}

export interface DrainReport {
  /** Everything that was handed out is done and committed. */
  readonly complete: boolean;
  /** Delivered again, here or elsewhere: their handlers ran beyond the deadline, or beyond the assignment of their partition. */
  readonly abandoned: readonly (TopicPartition & { readonly offset: number })[];
}

/** One member of the binding's group with everything between the poll and the commit. */
export interface ConsumingSession {
  readonly id: string;
  /**
   * Resolves once it has joined. It keeps trying for as long as it takes: an unreachable cluster
   * or a missing topic is a status. A session that fails for good is replaced after a backoff.
   * Rejects only when it is closed before it joined, with ClosedError, or when another process
   * takes its static member id before, with StaticMemberFencedError.
   */
  start(): Promise<void>;
  /**
   * No record reaches a handler after this resolves, buffered ones included; handlers that run
   * are left to finish. What is done by then is committed, bounded.
   */
  pause(reason: PauseReason): Promise<void>;
  /** Takes the reason away and returns those that remain. With none left, reading goes on behind what is done or at work. */
  resume(reason: PauseReason): readonly PauseReason[];
  /**
   * Ends the reason `strict` of a partition: the record is handed out again, with the decision
   * unless that is `retry`. So is one that has failed and holds its partition, for `backoff` or
   * since its circuit is open; the offset must be given for that. False where no such record waits
   * here, or another.
   */
  decide(place: DecisionPlace, decision: Decision): boolean;
  /**
   * Hands out nothing more, waits at most `drainMs` for running handlers, commits what is done and
   * leaves the group. Idempotent: the first deadline holds, and every call gets the same report.
   */
  close(options?: { readonly drainMs?: number }): Promise<DrainReport>;
  readonly status: ConsumingStatus;
  onStatus(listener: (status: ConsumingStatus) => void): () => void;
  readonly counts: RecordCounts;
}

export type ConsumingSessionFactory = (options: ConsumingSessionOptions) => ConsumingSession;
