import { isProgrammingError } from '../../failures/faults/is-programming-error.js';
import { deepFreeze } from './plain-object.js';
import type { PresetName } from './preset-name.js';
import type { RetryTierProperties } from '../properties/retry-properties.js';
import type { BindingDefaults } from '../properties/topic-binding-properties.js';

/** Describes the behaviour of an earlier system as data. Attempts include the first call. */
export interface Preset {
  readonly binding: Readonly<BindingDefaults>;
  /** Defaults of a tier that sets only its delay. */
  readonly tier: Readonly<Omit<RetryTierProperties, 'delayMs' | 'maxDelayMs'>>;
  /**
   * Says how the delays of successive tiers may change. Preset `resilient` has several tiers with
   * the same delay, so it allows equal delays. A shorter delay is always a mistake.
   */
  readonly tierDelays: 'increasing' | 'not-decreasing';
  /** Value of `enabled` for an application whose `defaults` select this preset. */
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
    // Switches jitter off, because only the earlier system of preset `connector` used random
    // delays.
    retry: { mode, tier0: { ...tier0, jitter: 'none' }, tiers: [] },
    dlt: { topicSuffix: 'DLT', headerProfile: ['spring'] },
  },
  tier: {},
  tierDelays: 'increasing',
});

const withAlertClass = (
  alertClass: NonNullable<NonNullable<BindingDefaults['alerts']>['class']>,
  { binding, ...preset }: Preset,
): Preset => ({ ...preset, binding: { ...binding, alerts: { class: alertClass } } });

export const PRESETS: Readonly<Record<PresetName, Preset>> = deepFreeze({
  /**
   * Preset `connector` is empty, because the library's defaults are those of its earlier system,
   * S0.
   */
  connector: { binding: {}, tier: {}, tierDelays: 'increasing' },

  strategy: strategy({
    maxAttempts: 4,
    initialBackoffMs: 1_000,
    multiplier: 2,
    maxBackoffMs: 30_000,
  }),
  'strategy-financial': withAlertClass(
    'financial',
    strategy({ maxAttempts: 6, initialBackoffMs: 5_000, multiplier: 2, maxBackoffMs: 60_000 }),
  ),
  'strategy-notification': withAlertClass(
    'notification',
    strategy({ maxAttempts: 4, initialBackoffMs: 1_000, multiplier: 2, maxBackoffMs: 10_000 }),
  ),
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
        mode: 'seek',
        tier0: {
          maxAttempts: 4,
          initialBackoffMs: 1_000,
          multiplier: 2,
          maxBackoffMs: 30_000,
          // S3 stops after maxIntervalMs x its three attempts, even if attempts are left.
          maxElapsedMs: 90_000,
          jitter: 'none',
        },
        tiers: [],
        nonRetryableExceptions: [
          'IllegalArgumentException',
          'NullPointerException',
          'ClassCastException',
          // Stands for the errors that JavaScript throws where Java throws the three above.
          { matches: isProgrammingError },
        ],
      },
      dlt: { topicSuffix: '-dlq', headerProfile: ['plain'] },
      typedJson: { trustedPackages: ['com.extractor.unraveldocs.*'] },
      // The earlier system S3 creates missing topics when it starts.
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
