import type { AssignorName, OffsetReset } from '@nest-event-bus/broker';
import type { AckMode } from '../model/ack-mode.js';
import type { BatchFailureStrategy } from '../model/batch-failure-strategy.js';
import type { ListenerType } from '../model/listener-type.js';
import type { OrderingMode } from '../model/ordering-mode.js';
import type { CircuitBreakerProperties } from './circuit-breaker-properties.js';
import type { DltProperties } from './dlt-properties.js';
import type { Duration } from './duration.js';
import type { PresetName } from './preset-name.js';
import type { RetryProperties } from './retry-properties.js';

/** What a user may say about one binding. What is left out comes from the preset, then from the defaults. */
export class TopicBindingProperties {
  preset?: PresetName;
  topic!: string;
  groupId!: string;
  cluster?: string;
  listenerType?: ListenerType;
  ackMode?: AckMode;
  concurrency?: number;
  maxPollRecords?: number;
  maxPollIntervalMs?: Duration;
  sessionTimeoutMs?: Duration;
  heartbeatIntervalMs?: Duration;
  /** How long the broker may hold a fetch that has nothing to give. */
  pollTimeoutMs?: Duration;
  idleBetweenPollsMs?: Duration;
  autoStartup?: boolean;
  staticMembership?: boolean;
  offsetReset?: OffsetReset;
  assignmentStrategy?: AssignorName | readonly AssignorName[];
  retry?: RetryProperties;
  circuitBreaker?: CircuitBreakerProperties;
  dlt?: DltProperties;
  batchFailureStrategy?: BatchFailureStrategy;
  orderingMode?: OrderingMode;
  /** What STRICT does with a record that failed for good. */
  strictExhaustion?: 'DLT' | 'PAUSE_PARTITION';
  /** What happens to a record of which no handler takes the type. */
  unknownType?: 'skip' | 'fail';
  /** The header that names the type of an event; a name that begins with `$.` is a field of the value instead. */
  typeFrom?: string;
  /** `'all'` lets global guards, pipes, interceptors and filters apply as well. */
  enhancers?: 'local' | 'all';
  rebalance?: RebalanceProperties;
  /** For the retry-budget rule: how long the handler usually takes per record. */
  expectedProcessingMs?: Duration;
}

export class RebalanceProperties {
  drainTimeoutMs?: Duration;
}
