import type { AssignorName, GroupProtocol, OffsetReset } from '@nest-event-bus/broker';
import { AckMode } from '../../model/states/ack-mode.js';
import { BatchFailureStrategy } from '../../model/outcomes/batch-failure-strategy.js';
import type { ExceptionClassifier } from '../../model/extension-points/handler-interfaces.js';
import { ListenerType } from '../../model/states/listener-type.js';
import { OrderingMode } from '../../model/states/ordering-mode.js';
import { CircuitBreakerProperties } from './circuit-breaker-properties.js';
import { DltProperties } from './dlt-properties.js';
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
import { IsTopicName } from '../resolving/topic-name.js';
import { isNamingStrategy } from '../resolving/topic-naming.js';
import type { TopicNamingStrategy } from '../../model/extension-points/topic-naming-strategy.js';
import { TopicsProperties } from './topics-properties.js';

export class RebalanceProperties {
  /** How long running handlers may go on after their partition was asked back. */
  @IsDuration()
  drainTimeoutMs?: Duration;
}

/** What can be said for all bindings at once: everything but the topic. */
export class BindingDefaults extends FormatProperties {
  @IsOneOf(PRESET_NAMES)
  preset?: PresetName;

  @IsText()
  groupId?: string;

  /** The alias of a cluster in `clusters`. */
  @IsText()
  cluster?: string;

  @IsOneOf(Object.values(ListenerType))
  listenerType?: ListenerType;

  @IsOneOf(Object.values(AckMode), {
    rule: 'ACK_MODE',
    remedy: 'The bus commits by itself; a BATCH listener, too, takes only these.',
  })
  ackMode?: AckMode;

  /** `'manual'`: a record is done when its handler calls `ctx.acknowledge()`; else it is delivered again. */
  @IsOneOf(['auto', 'manual'])
  ack?: 'auto' | 'manual';

  /** Sessions in the group. */
  @IsWholeNumber({ max: 1_000 })
  concurrency?: number;

  @IsWholeNumber()
  maxPollRecords?: number;

  @IsDuration({ min: 1 })
  maxPollIntervalMs?: Duration;

  /** A handler that runs longer is reported as stuck. */
  @IsDuration({ min: 1 })
  stuckHandlerMs?: Duration;

  @IsNested(() => ProcessingProperties)
  processing?: ProcessingProperties;

  @IsNested(() => CommitProperties)
  commit?: CommitProperties;

  @IsDuration({ min: 1 })
  sessionTimeoutMs?: Duration;

  /** At most a third of the session time-out. */
  @IsDuration({ min: 1 })
  heartbeatIntervalMs?: Duration;

  /** How long the broker may hold a fetch that has nothing to give. */
  @IsDuration()
  pollTimeoutMs?: Duration;

  @IsDuration()
  idleBetweenPollsMs?: Duration;

  @IsFlag()
  autoStartup?: boolean;

  /** A session that comes back within the session time-out finds its partitions as it left them, and nobody else notices. */
  @IsFlag()
  staticMembership?: boolean;

  /** Names the static members: {binding}, {hostname} and {index} stand for those of the session. */
  @IsTextLike(
    /^(?=.*\{index\})(?:[A-Za-z0-9._-]|\{(?:binding|hostname|index)\}){1,200}$/,
    "characters a-z, A-Z, 0-9, '.', '_' and '-', with {binding}, {hostname} and, always, {index}",
  )
  groupInstanceId?: string;

  /**
   * `'consumer'` is the group protocol of Kafka 4 (KIP-848): the broker shares the partitions out,
   * and what stays is read and committed meanwhile. A cluster without it is read by `'classic'`,
   * with a warning.
   */
  @IsOneOf(['classic', 'consumer'])
  groupProtocol?: GroupProtocol;

  @IsOneOf(['earliest', 'latest', 'none'])
  offsetReset?: OffsetReset;

  @IsListOf(['cooperative-sticky', 'sticky', 'range'], { orOne: true })
  assignmentStrategy?: AssignorName | readonly AssignorName[];

  @IsNested(() => RetryProperties)
  retry?: RetryProperties;

  @IsNested(() => CircuitBreakerProperties)
  circuitBreaker?: CircuitBreakerProperties;

  @IsNested(() => DltProperties)
  dlt?: DltProperties;

  /** Before anything else that is said about errors; of several, the one that names it most closely. */
  @IsNestedList(() => ExceptionRouteProperties)
  exceptionRouting?: readonly ExceptionRouteProperties[];

  /** Decides instead of the rules and lists. It has no state, and it answers at once. */
  @IsExceptionClassifier()
  classifier?: ExceptionClassifier;

  /** Whether the topics that the binding needs are created, looked at with a warning, or left alone. */
  @IsOneOf(['create', 'verify', 'none'])
  provisioning?: 'create' | 'verify' | 'none';

  /** Names retry and dead-letter topics, in the place of their suffixes. Default: the provider of TOPIC_NAMING_STRATEGY, if there is one. */
  @IsReference(
    'an object with the methods retryTopic(topic, tier) and deadLetterTopic(topic)',
    isNamingStrategy,
  )
  naming?: TopicNamingStrategy;

  @IsNested(() => TopicsProperties)
  topics?: TopicsProperties;

  @IsOneOf(Object.values(BatchFailureStrategy))
  batchFailureStrategy?: BatchFailureStrategy;

  /** SEEK_TO_FAILED: how often a failed record is delivered again before it goes to a retry topic. */
  @IsWholeNumber({ min: 0, max: 1_000 })
  batchRedeliveries?: number;

  @IsOneOf(Object.values(OrderingMode))
  orderingMode?: OrderingMode;

  /** What STRICT does with a record that failed for good. */
  @IsOneOf(['DLT', 'PAUSE_PARTITION'])
  strictExhaustion?: 'DLT' | 'PAUSE_PARTITION';

  /** What happens to a record of which no handler takes the type. */
  @IsOneOf(['skip', 'fail'])
  unknownType?: 'skip' | 'fail';

  /** The header that names the type of an event; a name that begins with `$.` is a field of the value instead. */
  @IsTextLike(
    /^(?!\$)\S{1,200}$|^\$(\.[^.\s]+)+$/,
    "the name of a header, or '$.' and the path of a field in the value",
  )
  typeFrom?: string;

  /** `'all'` lets global guards, pipes, interceptors and filters apply as well. */
  @IsOneOf(['local', 'all'])
  enhancers?: 'local' | 'all';

  @IsNested(() => RebalanceProperties)
  rebalance?: RebalanceProperties;

  @IsNested(() => IdempotencyProperties)
  idempotency?: IdempotencyProperties;

  @IsNested(() => TransactionProperties)
  transactions?: TransactionProperties;

  /** For the retry-budget rule: how long the handler usually takes per record. */
  @IsDuration()
  expectedProcessingMs?: Duration;
}

/** What a user may say about one binding. What is left out comes from the defaults, then from the preset. */
export class TopicBindingProperties extends BindingDefaults {
  @IsTopicName()
  topic!: string;

  declare groupId: string;
}
