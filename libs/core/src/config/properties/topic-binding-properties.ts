import type { AssignorName, GroupProtocol, OffsetReset } from '@nest-event-bus/broker';
import { AckMode } from '../../model/states/ack-mode.js';
import { BatchFailureStrategy } from '../../model/outcomes/batch-failure-strategy.js';
import type { ExceptionClassifier } from '../../model/extension-points/handler-interfaces.js';
import { ListenerType } from '../../model/states/listener-type.js';
import type { OnTopicRecreated } from '../../model/states/on-topic-recreated.js';
import { OrderingMode } from '../../model/states/ordering-mode.js';
import { AlertProperties } from './alert-properties.js';
import { CircuitBreakerProperties } from './circuit-breaker-properties.js';
import { DltProperties } from './dlt-properties.js';
import { FailureLogProperties } from './failure-log-properties.js';
import type { Duration } from '../reading/duration.js';
import { ExceptionRouteProperties, IsExceptionClassifier } from './exception-route-properties.js';
import { FormatProperties } from './format-properties.js';
import { IdempotencyProperties } from './idempotency-properties.js';
import { PRESET_NAMES, type PresetName } from '../reading/preset-name.js';
import {
  CommitProperties,
  ProcessingProperties,
  TransactionProperties,
} from './processing-properties.js';
import {
  IsDuration,
  IsFlag,
  IsListOf,
  IsNested,
  IsNestedList,
  IsOneOf,
  IsReference,
  IsText,
  IsTextLike,
  IsWholeNumber,
} from './property-decorators.js';
import { RetryProperties } from './retry-properties.js';
import { IsTopicName } from '../resolving/legal-topic-name.js';
import { isNamingStrategy } from '../resolving/topic-naming.js';
import type { TopicNamingStrategy } from '../../model/extension-points/topic-naming-strategy.js';
import { TopicsProperties } from './topics-properties.js';

/** Configures what happens to running handlers at a rebalance. */
export class RebalanceProperties {
  /**
   * Limits how long running handlers may continue after their partition was revoked. After that
   * time their abort signals fire, and the new owner gets their records. It must not exceed
   * `maxPollIntervalMs`.
   *
   * @defaultValue `10000`
   */
  @IsDuration()
  drainTimeoutMs?: Duration;
}

/** Contains the options that may be set for all bindings at once: all options except the topic. */
export class BindingDefaults extends FormatProperties {
  /**
   * Selects a set of defaults that reproduces the behaviour of an earlier system.
   *
   * @defaultValue `'connector'`
   */
  @IsOneOf(PRESET_NAMES)
  preset?: PresetName;

  /**
   * Names the consumer group. Retry topics are read by groups of their own, whose names derive from
   * it.
   *
   * @defaultValue none; required
   */
  @IsText()
  groupId?: string;

  /**
   * Names the cluster of the binding by its alias in `clusters`.
   *
   * @defaultValue `'default'`
   */
  @IsText()
  cluster?: string;

  /**
   * Sets the unit of progress. With `'BATCH'` the bus commits whole slices, and
   * `batchFailureStrategy` applies. `@EventHandler.Batch` requires `'BATCH'` and sets it.
   *
   * @defaultValue `'SINGLE'`
   */
  @IsOneOf(Object.values(ListenerType))
  listenerType?: ListenerType;

  /**
   * Sets when finished records are committed. `'MANUAL_IMMEDIATE'` commits while the next records
   * are handled, `'MANUAL'` commits once per slice, as a BATCH listener always does.
   *
   * @defaultValue `'MANUAL_IMMEDIATE'`
   */
  @IsOneOf(Object.values(AckMode), {
    rule: 'ACK_MODE',
    remedy: 'The bus commits by itself; a BATCH listener, too, takes only these.',
  })
  ackMode?: AckMode;

  /**
   * Sets when a record is finished. With `'manual'` it is finished when its handler calls
   * `ctx.acknowledge()`; without that call it is delivered again.
   *
   * @defaultValue `'auto'`
   */
  @IsOneOf(['auto', 'manual'])
  ack?: 'auto' | 'manual';

  /**
   * Sets how many members of the group run in this process. Members beyond the number of partitions
   * have nothing to read.
   *
   * @defaultValue `1`
   */
  @IsWholeNumber({ max: 1_000 })
  concurrency?: number;

  /**
   * Limits the records of one slice.
   *
   * @defaultValue `50`; `200` with `listenerType: 'BATCH'`
   */
  @IsWholeNumber()
  maxPollRecords?: number;

  /**
   * Limits how long a handler may run. If it runs longer, health is DOWN, and the session leaves
   * the group and joins again. The record is delivered again, and the result of the late handler is
   * not committed.
   *
   * @defaultValue `600000`
   */
  @IsDuration({ min: 1 })
  maxPollIntervalMs?: Duration;

  /**
   * Sets after which time a running handler counts as stuck. The log then names its record, and
   * health is DEGRADED. It must be less than `maxPollIntervalMs`.
   *
   * @defaultValue `300000`
   */
  @IsDuration({ min: 1 })
  stuckHandlerMs?: Duration;

  /** Configures which records of a partition wait for each other. */
  @IsNested(() => ProcessingProperties)
  processing?: ProcessingProperties;

  /** Configures the offset commits. */
  @IsNested(() => CommitProperties)
  commit?: CommitProperties;

  /**
   * Sets how long the broker waits for a heartbeat before it removes the member. It must be at
   * least three heartbeat intervals.
   *
   * @defaultValue `45000`
   */
  @IsDuration({ min: 1 })
  sessionTimeoutMs?: Duration;

  /**
   * Sets the time between heartbeats. It is at most a third of the session timeout.
   *
   * @defaultValue `10000`
   */
  @IsDuration({ min: 1 })
  heartbeatIntervalMs?: Duration;

  /**
   * Sets how long the broker may hold a fetch without records. A new record ends the wait.
   *
   * @defaultValue `5000`
   */
  @IsDuration()
  pollTimeoutMs?: Duration;

  /**
   * Adds a wait between two polls. It lowers the load at the cost of latency.
   *
   * @defaultValue `0`
   */
  @IsDuration()
  idleBetweenPollsMs?: Duration;

  /**
   * Starts the binding with the application. With `false` the binding waits for the command
   * `start`.
   *
   * @defaultValue `true`
   */
  @IsFlag()
  autoStartup?: boolean;

  /**
   * Makes the sessions static members (KIP-345). A session that returns within the session timeout
   * gets its partitions back without a rebalance.
   *
   * @defaultValue `false`
   */
  @IsFlag()
  staticMembership?: boolean;

  /**
   * Names the static members. `{binding}`, `{hostname}` and `{index}` stand for the binding, the
   * host and the index of the session. A second process with the same id fences the first.
   *
   * @defaultValue `'{binding}-{hostname}-{index}'`
   */
  @IsTextLike(
    /^(?=.*\{index\})(?:[A-Za-z0-9._-]|\{(?:binding|hostname|index)\}){1,200}$/,
    "characters a-z, A-Z, 0-9, '.', '_' and '-', with {binding}, {hostname} and, always, {index}",
  )
  groupInstanceId?: string;

  /**
   * Selects the group protocol. With `'consumer'` (KIP-848, Kafka 4) the broker assigns the
   * partitions. If the cluster does not support it, the binding uses `'classic'` and logs a
   * warning.
   *
   * @defaultValue `'classic'`
   */
  @IsOneOf(['classic', 'consumer'])
  groupProtocol?: GroupProtocol;

  /**
   * Sets where reading begins if the group has no committed offset. With `'none'` the partition
   * stops. A partition that is added later is read from its first record in any case.
   *
   * @defaultValue `'earliest'`
   */
  @IsOneOf(['earliest', 'latest', 'none'])
  offsetReset?: OffsetReset;

  /**
   * Sets what happens if the topic is deleted and created again while it is read, with both group
   * protocols. With `'stop'` its partitions wait until the binding is stopped and started; then
   * `offsetReset` decides. With `'earliest'` or `'latest'` the new topic is read from its beginning
   * or its end. In any case the records of the deleted topic that were read before are finished.
   *
   * @defaultValue `'stop'`
   */
  @IsOneOf(['stop', 'earliest', 'latest'])
  onTopicRecreated?: OnTopicRecreated;

  /**
   * Lists the assignors of the classic protocol in the order of preference. The broker chooses one
   * that all members offer.
   *
   * @defaultValue `['cooperative-sticky', 'sticky', 'range']`
   */
  @IsListOf(['cooperative-sticky', 'sticky', 'range'], { orOne: true })
  assignmentStrategy?: AssignorName | readonly AssignorName[];

  /**
   * Configures how often a handler is called again in this process, and the retry topics that
   * follow.
   */
  @IsNested(() => RetryProperties)
  retry?: RetryProperties;

  /**
   * Configures the circuit breaker, which all sessions and tiers of a binding share. One call in
   * its window is one delivery with all its retries in memory. Records that cannot be decoded or
   * validated, and errors in `retry.nonRetryableExceptions`, are not counted.
   */
  @IsNested(() => CircuitBreakerProperties)
  circuitBreaker?: CircuitBreakerProperties;

  /** Configures the dead-letter topic. */
  @IsNested(() => DltProperties)
  dlt?: DltProperties;

  /** Configures what is logged about failed records. */
  @IsNested(() => FailureLogProperties)
  failureLog?: FailureLogProperties;

  /** Configures when the bus emits `lag.alert`. */
  @IsNested(() => AlertProperties)
  alerts?: AlertProperties;

  /**
   * Lists where records with certain errors go after the last call of the handler. It overrides all
   * other rules except a classifier. Of several entries the most specific one counts.
   *
   * @defaultValue `[]`
   */
  @IsNestedList(() => ExceptionRouteProperties)
  exceptionRouting?: readonly ExceptionRouteProperties[];

  /**
   * Sets a classifier that decides where failed records go, instead of `exceptionRouting` and the
   * exception lists of `retry`. The classifier must be stateless and must answer synchronously.
   *
   * @defaultValue the provider of `EXCEPTION_CLASSIFIER`, if there is one
   */
  @IsExceptionClassifier()
  classifier?: ExceptionClassifier;

  /**
   * Decides what the bus does about the topics of the binding at start. `'create'` creates missing
   * topics, `'verify'` warns about problems, `'none'` does nothing.
   *
   * @defaultValue `'verify'`
   */
  @IsOneOf(['create', 'verify', 'none'])
  provisioning?: 'create' | 'verify' | 'none';

  /**
   * Names the retry and dead-letter topics. The suffixes then have no effect.
   *
   * @defaultValue the provider of `TOPIC_NAMING_STRATEGY`, if there is one
   */
  @IsReference(
    'an object with the methods retryTopic(topic, tier) and deadLetterTopic(topic)',
    isNamingStrategy,
  )
  naming?: TopicNamingStrategy;

  /**
   * Describes the topics that the bus creates. It has an effect only with `provisioning: 'create'`.
   */
  @IsNested(() => TopicsProperties)
  topics?: TopicsProperties;

  /**
   * Decides about a failed record of a BATCH listener. `'SEEK_TO_FAILED'` delivers it again before
   * it goes to a retry topic. `'DLQ_AND_CONTINUE'` dead-letters it after one call.
   *
   * @defaultValue `'SEEK_TO_FAILED'`
   */
  @IsOneOf(Object.values(BatchFailureStrategy))
  batchFailureStrategy?: BatchFailureStrategy;

  /**
   * Sets how often SEEK_TO_FAILED delivers a failed record again before it goes to a retry topic.
   * These deliveries follow the calls of tier 0 without a wait.
   *
   * @defaultValue `1`
   */
  @IsWholeNumber({ min: 0, max: 1_000 })
  batchRedeliveries?: number;

  /**
   * Decides about the records behind a failed record. With `'RELAXED_IN_RETRY'` they overtake it
   * while it is in a retry topic. With `'STRICT'` there are no retry topics, and they wait.
   *
   * @defaultValue `'RELAXED_IN_RETRY'`
   */
  @IsOneOf(Object.values(OrderingMode))
  orderingMode?: OrderingMode;

  /**
   * Decides what STRICT ordering does with a record after its last call. `'PAUSE_PARTITION'` pauses
   * its partition until `connector.decide` is called.
   *
   * @defaultValue `'DLT'`
   */
  @IsOneOf(['DLT', 'PAUSE_PARTITION'])
  strictExhaustion?: 'DLT' | 'PAUSE_PARTITION';

  /**
   * Decides about a record for whose type there is no handler. `'skip'` discards it with a warning,
   * `'fail'` makes it a dead letter.
   *
   * @defaultValue `'skip'`
   */
  @IsOneOf(['skip', 'fail'])
  unknownType?: 'skip' | 'fail';

  /**
   * Names the header with the type of an event. A name that begins with `$.` is a field of the
   * value.
   *
   * @defaultValue `'event-type'`
   */
  @IsTextLike(
    /^(?!\$)\S{1,200}$|^\$(\.[^.\s]+)+$/,
    "the name of a header, or '$.' and the path of a field in the value",
  )
  typeFrom?: string;

  /**
   * Selects which guards, pipes, interceptors and filters apply. `'local'` means those of the
   * handler, `'all'` also the global ones.
   *
   * @defaultValue `'local'`
   */
  @IsOneOf(['local', 'all'])
  enhancers?: 'local' | 'all';

  /** Configures what happens to running handlers at a rebalance. */
  @IsNested(() => RebalanceProperties)
  rebalance?: RebalanceProperties;

  /**
   * Configures the idempotency store. A record whose handler has succeeded is not handled again.
   */
  @IsNested(() => IdempotencyProperties)
  idempotency?: IdempotencyProperties;

  /**
   * Configures transactions: what a handler sends with `ctx.transaction` is committed together with
   * the offset of its record.
   */
  @IsNested(() => TransactionProperties)
  transactions?: TransactionProperties;

  /**
   * Sets how long the handler usually takes per record, for the checks at start. The checks use it
   * for the retry budget and for the lease of a batch handler.
   *
   * @defaultValue `0`
   */
  @IsDuration()
  expectedProcessingMs?: Duration;
}

/**
 * Contains the options of one binding. An option that is not set comes from the other sources, and
 * finally from the preset.
 */
export class TopicBindingProperties extends BindingDefaults {
  /**
   * Names the topic that the binding reads.
   *
   * @defaultValue none; required
   */
  @IsTopicName()
  topic!: string;

  declare groupId: string;
}
