import { deepFreeze } from '../config/reading/plain-object.js';
import {
  IsDuration,
  IsFlag,
  IsMultiplier,
  IsNested,
  IsOneOf,
  IsText,
  IsWholeNumber,
} from '../config/properties/property-decorators.js';
import { IsTopicName } from '../config/resolving/topic-name.js';

const MESSAGING_BROKERS = ['KAFKA', 'RABBITMQ'] as const;

export class MessagingKafkaProperties {
  @IsFlag()
  readonly enabled!: boolean;

  /** Begins the name of every topic, so it must be the beginning of one. */
  @IsTopicName()
  readonly topicPrefix!: string;

  @IsWholeNumber({ max: 100_000 })
  readonly defaultPartitions!: number;

  /** Kafka has 16 bits for it. */
  @IsWholeNumber({ max: 32_767 })
  readonly defaultReplicationFactor!: number;

  /** -1 is for ever. No duration: nobody waits for it, so it may be longer than a timer can be. */
  @IsWholeNumber({ min: -1, max: Number.MAX_SAFE_INTEGER })
  readonly defaultRetentionMs!: number;
}

export class MessagingConsumerProperties {
  @IsWholeNumber({ max: 1_000 })
  readonly concurrency!: number;

  @IsWholeNumber()
  readonly maxPollRecords!: number;

  @IsDuration({ min: 1 })
  readonly sessionTimeoutMs!: number;

  @IsDuration({ min: 1 })
  readonly heartbeatIntervalMs!: number;
}

export class MessagingProducerProperties {
  /** No more than a timer takes, in seconds. */
  @IsWholeNumber({ max: 2_147_483 })
  readonly sendTimeoutSeconds!: number;

  @IsFlag()
  readonly transactionalEnabled!: boolean;

  @IsText()
  readonly transactionalIdPrefix!: string;
}

export class MessagingRetryProperties {
  /** After the first call, which is not counted here: an event bus option counts one more. */
  @IsWholeNumber({ min: 0, max: 999_999 })
  readonly maxAttempts!: number;

  @IsDuration()
  readonly initialIntervalMs!: number;

  @IsMultiplier()
  readonly multiplier!: number;

  @IsDuration()
  readonly maxIntervalMs!: number;

  @IsFlag()
  readonly retryTopicsEnabled!: boolean;
}

export class MessagingRabbitMqProperties {
  @IsFlag()
  readonly enabled!: boolean;

  @IsText()
  readonly exchangePrefix!: string;

  @IsText()
  readonly queuePrefix!: string;
}

/** `messaging.*`. Complete once loaded; each key may be left out where it is given. */
export class MessagingProperties {
  @IsOneOf(MESSAGING_BROKERS)
  readonly defaultBroker!: (typeof MESSAGING_BROKERS)[number];

  /** Off switches everything off, whatever the brokers' own switches say. */
  @IsFlag()
  readonly enabled!: boolean;

  @IsNested(() => MessagingKafkaProperties)
  readonly kafka!: MessagingKafkaProperties;

  @IsNested(() => MessagingConsumerProperties)
  readonly consumer!: MessagingConsumerProperties;

  @IsNested(() => MessagingProducerProperties)
  readonly producer!: MessagingProducerProperties;

  @IsNested(() => MessagingRetryProperties)
  readonly retry!: MessagingRetryProperties;

  @IsNested(() => MessagingRabbitMqProperties)
  readonly rabbitmq!: MessagingRabbitMqProperties;
}

export const SECTION_CLASSES = [
  MessagingProperties,
  MessagingKafkaProperties,
  MessagingConsumerProperties,
  MessagingProducerProperties,
  MessagingRetryProperties,
  MessagingRabbitMqProperties,
] as const;

export const MESSAGING_DEFAULTS: MessagingProperties = deepFreeze({
  defaultBroker: 'KAFKA',
  enabled: true,
  kafka: {
    enabled: true,
    topicPrefix: 'unraveldocs',
    defaultPartitions: 3,
    defaultReplicationFactor: 1,
    defaultRetentionMs: 604_800_000,
  },
  consumer: {
    concurrency: 3,
    maxPollRecords: 500,
    sessionTimeoutMs: 30_000,
    heartbeatIntervalMs: 10_000,
  },
  producer: {
    sendTimeoutSeconds: 30,
    transactionalEnabled: false,
    transactionalIdPrefix: 'unraveldocs-tx-',
  },
  retry: {
    maxAttempts: 3,
    initialIntervalMs: 1_000,
    multiplier: 2,
    maxIntervalMs: 30_000,
    retryTopicsEnabled: true,
  },
  rabbitmq: { enabled: false, exchangePrefix: 'unraveldocs', queuePrefix: 'unraveldocs' },
});
