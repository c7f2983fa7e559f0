import type { Regression } from '../support/committed-watch.js';
import type { Completeness, Handled } from '../support/completeness.js';
import type { MemberEvent, Position } from '../support/member-messages.js';
import {
  commitsAfterTakeover,
  takenBeforeHandedBack,
  ownershipPeriodsOf,
  type MemberHistory,
  type Overlap,
} from '../support/ownership-periods.js';
import { doubleClaims, type DoubleClaim } from './double-claims.js';
import { earlyCommits, type EarlyCommit } from './early-commits.js';
import type { PacedWriter } from './paced-writer.js';
import { regressionsOf } from './stored-commits.js';
import type { StormSettings } from './storm.js';
import { logFaults, offsetsOf, type LogFaults, type StoredRecord } from './written-log.js';

export interface StormFindings {
  readonly settings: StormSettings;
  readonly incidents: number;
  readonly recoveryMs: number;
  readonly tookMs: number;
  readonly histories: readonly MemberHistory[];
  readonly writer: Pick<PacedWriter, 'acknowledged' | 'failures' | 'called' | 'slowestMs'>;
  readonly logs: readonly (readonly StoredRecord[])[];
  /** In the order in which the cluster stored them. */
  readonly stored: readonly Position[];
  readonly completeness: Completeness;
  readonly readAfterwards: readonly Handled[];
}

export interface StormReport {
  readonly figures: Readonly<Record<string, number | string>>;
  readonly acknowledged: number;
  readonly failures: readonly string[];
  readonly log: LogFaults;
  readonly completeness: Completeness;
  readonly regressions: readonly Regression[];
  readonly earlyCommits: readonly EarlyCommit[];
  readonly doubleClaims: readonly DoubleClaim[];
  readonly takenBeforeHandedBack: readonly Overlap[];
  readonly commitsAfterTakeover: readonly MemberEvent[];
  readonly violations: readonly string[];
}

export function stormReport(findings: StormFindings): StormReport {
  const { settings, histories, writer, logs, stored, completeness } = findings;
  const ownershipPeriods = ownershipPeriodsOf(histories);
  const events = histories.flatMap((history) => history.events);
  const count = (kind: MemberEvent['kind']): number =>
    events.filter((event) => event.kind === kind).length;
  const regressions = regressionsOf(stored);
  return {
    figures: {
      membership: settings.membership,
      seed: settings.random.seed,
      incidents: findings.incidents,
      acknowledged: writer.acknowledged.length,
      'failed sends': writer.failures.length,
      'slowest send ms': writer.slowestMs,
      'in the log': logs.reduce((sum, log) => sum + log.length, 0),
      'duplicates on the consuming side': completeness.duplicates,
      missing: completeness.missing.length,
      'read after the kill of all': findings.readAfterwards.length,
      'commits stored': stored.length,
      'gone backwards': regressions.length,
      'commits refused': count('commit-failed'),
      assignments: count('assigned'),
      losses: count('lost'),
      'longest without a record ms': longestPause(events, 'handled'),
      'longest without a commit ms': longestPause(events, 'committed'),
      'caught up after ms': findings.recoveryMs,
      'took ms': findings.tookMs,
    },
    acknowledged: writer.acknowledged.length,
    failures: writer.failures,
    log: logFaults(logs, writer.acknowledged),
    completeness,
    regressions,
    earlyCommits: earlyCommits(histories, offsetsOf(logs)),
    doubleClaims: doubleClaims(histories),
    takenBeforeHandedBack: takenBeforeHandedBack(ownershipPeriods),
    commitsAfterTakeover: commitsAfterTakeover(histories, ownershipPeriods),
    violations: histories.flatMap(({ name, events: reported }) =>
      reported.flatMap((event) => (event.kind === 'broke' ? `${name}: ${event.error}` : [])),
    ),
  };
}

/** Longest time between two events of this kind. */
function longestPause(events: readonly MemberEvent[], kind: MemberEvent['kind']): number {
  const times = events.flatMap((event) => (event.kind === kind ? event.at : [])).sort(ascending);
  return times.reduce((longest, at, index) => Math.max(longest, at - (times[index - 1] ?? at)), 0);
}

const ascending = (left: number, right: number): number => left - right;
