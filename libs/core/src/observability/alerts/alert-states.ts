import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import { LAG_THRESHOLDS, type AlertState } from '../../model/states/lag-alert.js';
import type { BindingLag, GroupLag } from '../../model/states/lag.js';

type Options = Pick<ResolvedBinding, 'alerts' | 'retry'>;
type Measured = Pick<AlertState, 'of' | 'topic' | 'tier' | 'measure' | 'value'>;

interface Thresholds {
  /** Infinity switches the level off. */
  readonly warning: number;
  readonly critical: number;
}

/** Compares the lag of a binding with its thresholds. What is not known has no state. */
export function alertStates(lag: BindingLag, options: Options): readonly AlertState[] {
  return [
    ...groupStates(lag.main, 0, options),
    ...lag.tiers.flatMap((group) => {
      const tier = options.retry.tiers.find(({ number }) => number === group.tier);
      return groupStates(group, (tier?.delayMs ?? 0) / 1_000, options);
    }),
    ...letterStates(lag, options),
  ];
}

function groupStates(
  { topic, tier, records, seconds }: GroupLag,
  delaySeconds: number,
  { alerts }: Options,
): readonly AlertState[] {
  const of = tier > 0 ? 'tier' : 'main';
  const classThresholds = LAG_THRESHOLDS[alerts.class];
  const depth = stateOf(
    { of, topic, tier, measure: 'records', value: records },
    {
      warning: alerts.lagWarning || classThresholds.warning,
      critical: alerts.lagCritical || classThresholds.critical,
    },
  );
  if (seconds === undefined) return [depth];
  const value = Math.max(0, seconds - delaySeconds);
  const { ageWarningMs, ageCriticalMs } = alerts;
  return [
    depth,
    stateOf({ of, topic, tier, measure: 'seconds', value }, ages(ageWarningMs, ageCriticalMs)),
  ];
}

function letterStates({ deadLetters }: BindingLag, { alerts }: Options): readonly AlertState[] {
  if (!deadLetters) return [];
  const { topic, records, oldestSeconds, isExact } = deadLetters;
  const of = { of: 'dead-letters', topic, tier: 0 } as const;
  const depth = stateOf(
    { ...of, measure: 'records', value: records },
    { warning: alerts.dltWarning, critical: alerts.dltCritical },
  );
  // Letters that may not be read have no age, which does not mean that they are new.
  if (oldestSeconds === undefined && !isExact) return [depth];
  return [
    depth,
    stateOf(
      { ...of, measure: 'seconds', value: oldestSeconds ?? 0 },
      ages(alerts.dltAgeWarningMs, alerts.dltAgeCriticalMs),
    ),
  ];
}

function ages(warningMs: number, criticalMs: number): Thresholds {
  return { warning: warningMs / 1_000 || Infinity, critical: criticalMs / 1_000 || Infinity };
}

function stateOf(measured: Measured, { warning, critical }: Thresholds): AlertState {
  if (measured.value > critical) return { ...measured, level: 'CRITICAL', threshold: critical };
  if (measured.value > warning) return { ...measured, level: 'WARNING', threshold: warning };
  return { ...measured, level: 'OK', threshold: undefined };
}
