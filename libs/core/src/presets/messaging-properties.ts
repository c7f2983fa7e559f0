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
import { IsTopicName } from '../config/resolving/legal-topic-name.js';

const MESSAGING_BROKERS = ['KAFKA', 'RABBITMQ'] as const;

export class MessagingKafkaProperties {
  @IsFlag()
  readonly enabled!: boolean;

  /** Prefix of every topic name. It must be valid at the beginning of a topic name. */
  @IsTopicName()
  readonly topicPrefix!: string;

  @IsWholeNumber({ max: 100_000 })
  readonly defaultPartitions!: number;

  /** Limited to 16 bits, like the replication factor in Kafka's protocol. */
  @IsWholeNumber({ max: 32_767 })
  readonly defaultReplicationFactor!: number;

  /**
   * Retention in ms; -1 keeps records for ever. The option is not an IsDuration, because it may
   * exceed the limit of a timer and no timer uses it.
   */
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
  /** Limited to the longest time of a Node timer, in seconds. */
  @IsWholeNumber({ max: 2_147_483 })
  readonly sendTimeoutSeconds!: number;

  @IsFlag()
  readonly transactionalEnabled!: boolean;

  @IsText()
  readonly transactionalIdPrefix!: string;
}

export class MessagingRetryProperties {
  /**
   * Number of attempts after the first call. The option of the event bus is one higher, because it
   * also counts the first call.
   */
  @IsWholeNumber({ min: 0, max: 999_999 })
  readonly maxAttempts!: number;

  @IsDuration()
  readonly initialIntervalMs!: number;

  @IsMultiplier()
  readonly multiplier!: number;

  @IsDuration()
  readonly maxIntervalMs!: number;

  /**
   * Adds one retry topic `{topic}-retry` to each binding, if the file says `true`. It makes
   * `maxAttempts` deliveries, each after `initialIntervalMs`. With `false`, and if the file says
   * nothing, there is none: S3 creates its retry topics by default, but writes nothing to them.
   */
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

/** The section `messaging.*`. A file may leave out every key, because loading adds the defaults. */
export class MessagingProperties {
  @IsOneOf(MESSAGING_BROKERS)
  readonly defaultBroker!: (typeof MESSAGING_BROKERS)[number];

  /** Main switch. If false, all of messaging is off, regardless of the switches of the brokers. */
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
