import type { AssignorName, OffsetReset } from '@nest-event-bus/broker';
import { AckMode } from '../model/ack-mode.js';
import { BatchFailureStrategy } from '../model/batch-failure-strategy.js';
import { ListenerType } from '../model/listener-type.js';
import { OrderingMode } from '../model/ordering-mode.js';
import { CircuitBreakerProperties } from './circuit-breaker-properties.js';
import { DltProperties } from './dlt-properties.js';
import type { Duration } from './duration.js';
import { PRESET_NAMES, type PresetName } from './preset-name.js';
import {
  IsDuration,
  IsFlag,
  IsListOf,
  IsNested,
  IsOneOf,
  IsText,
  IsTextLike,
  IsWholeNumber,
} from './property-decorators.js';
import { RetryProperties } from './retry-properties.js';
import { IsTopicName } from './topic-name.js';

export class RebalanceProperties {
  /** How long running handlers may go on after their partition was asked back. */
  @IsDuration()
  drainTimeoutMs?: Duration;
}

/** What can be said for all bindings at once: everything but the topic. */
export class BindingDefaults {
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

  /** Sessions in the group. */
  @IsWholeNumber({ max: 1_000 })
  concurrency?: number;

  @IsWholeNumber()
  maxPollRecords?: number;

  @IsDuration({ min: 1 })
  maxPollIntervalMs?: Duration;

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

  @IsFlag()
  staticMembership?: boolean;

  @IsOneOf(['earliest', 'latest', 'none'])
  offsetReset?: OffsetReset;

  @IsListOf(['range', 'sticky'], { orOne: true })
  assignmentStrategy?: AssignorName | readonly AssignorName[];

  @IsNested(() => RetryProperties)
  retry?: RetryProperties;

  @IsNested(() => CircuitBreakerProperties)
  circuitBreaker?: CircuitBreakerProperties;

  @IsNested(() => DltProperties)
  dlt?: DltProperties;

  @IsOneOf(Object.values(BatchFailureStrategy))
  batchFailureStrategy?: BatchFailureStrategy;

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
