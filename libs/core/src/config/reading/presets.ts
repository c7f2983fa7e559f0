import { isProgrammingError } from '../../failures/faults/is-programming-error.js';
import { deepFreeze } from './plain-object.js';
import type { PresetName } from './preset-name.js';
import type { RetryTierProperties } from '../properties/retry-properties.js';
import type { BindingDefaults } from '../properties/topic-binding-properties.js';

/** How an earlier system behaved, as data. Counts are calls altogether, the first one included. */
export interface Preset {
  readonly binding: Readonly<BindingDefaults>;
  /** What a tier has that says no more than its delay. */
  readonly tier: Readonly<Omit<RetryTierProperties, 'delayMs' | 'maxDelayMs'>>;
  /**
   * Whether each tier must wait longer than the one before. `resilient` has a number of hops with
   * one fixed delay, so there equal ones are allowed; a shorter one is a mistake everywhere.
   */
  readonly tierDelays: 'increasing' | 'not-decreasing';
  /** Of an application whose `defaults` name this preset. */
  readonly enabled?: 'if-configured';
}

const strategy = (
  tier0: Readonly<NonNullable<NonNullable<BindingDefaults['retry']>['tier0']>>,
  mode: 'in-line' | 'seek' = 'seek',
): Preset => ({
  binding: {
    ackMode: 'MANUAL_IMMEDIATE',
    concurrency: 1,
    maxPollRecords: 50,
    sessionTimeoutMs: 45_000,
    heartbeatIntervalMs: 10_000,
    offsetReset: 'earliest',
    // None of the earlier systems but the connector's left a wait to chance.
    retry: { mode, tier0: { ...tier0, jitter: 'none' }, tiers: [] },
    dlt: { topicSuffix: 'DLT', headerProfile: ['spring'] },
  },
  tier: {},
  tierDelays: 'increasing',
});

export const PRESETS: Readonly<Record<PresetName, Preset>> = deepFreeze({
  /** The library's defaults and nothing else: they are S0's. */
  connector: { binding: {}, tier: {}, tierDelays: 'increasing' },

  strategy: strategy({
    maxAttempts: 4,
    initialBackoffMs: 1_000,
    multiplier: 2,
    maxBackoffMs: 30_000,
  }),
  'strategy-financial': strategy({
    maxAttempts: 6,
    initialBackoffMs: 5_000,
    multiplier: 2,
    maxBackoffMs: 60_000,
  }),
  'strategy-notification': strategy({
    maxAttempts: 4,
    initialBackoffMs: 1_000,
    multiplier: 2,
    maxBackoffMs: 10_000,
  }),
  'strategy-reconciliation': strategy({ maxAttempts: 1 }, 'in-line'),

  brokers: {
    binding: {
      ackMode: 'MANUAL_IMMEDIATE',
      concurrency: 3,
      maxPollRecords: 500,
      sessionTimeoutMs: 30_000,
      heartbeatIntervalMs: 10_000,
      offsetReset: 'earliest',
      retry: {
        // S3 also gives up after maxIntervalMs x maxAttempts. Three waits, none longer than the
        // maximum, are never longer than that: the count always ends it first.
        mode: 'seek',
        tier0: {
          maxAttempts: 4,
          initialBackoffMs: 1_000,
          multiplier: 2,
          maxBackoffMs: 30_000,
          jitter: 'none',
        },
        tiers: [],
        nonRetryableExceptions: [
          'IllegalArgumentException',
          'NullPointerException',
          'ClassCastException',
          // What JavaScript throws in their place.
          { matches: isProgrammingError },
        ],
      },
      dlt: { topicSuffix: '-dlq', headerProfile: ['plain'] },
      typedJson: { trustedPackages: ['com.extractor.unraveldocs.*'] },
      // S3 creates what is missing when it starts.
      provisioning: 'create',
      topics: {
        retry: { partitions: 1, retentionDays: 1 },
        dlt: { partitions: 1, retentionDays: 30 },
      },
    },
    tier: { topicSuffix: '-retry' },
    tierDelays: 'increasing',
    enabled: 'if-configured',
  },

  resilient: {
    binding: {
      concurrency: 1,
      maxPollRecords: 50,
      sessionTimeoutMs: 45_000,
      heartbeatIntervalMs: 10_000,
      offsetReset: 'earliest',
      retry: { tier0: { maxAttempts: 1, jitter: 'none' }, tiers: [] },
      dlt: { topicSuffix: 'error', headerProfile: ['eventbus'] },
    },
    tier: { maxAttempts: 1, topicSuffix: 'retry.{n}' },
    tierDelays: 'not-decreasing',
  },
} satisfies Record<PresetName, Preset>);
