import type { CommittedWatch, Regression } from './committed-watch.js';
import type { Completeness, Handled } from './completeness.js';
import type { MemberEvent, Position } from './member-messages.js';
import { MachineDelays } from './machine-delays.js';
import type { RoundSettings } from './round-settings.js';
import {
  commitsAfterTakeover,
  sharedInOneGeneration,
  slowestToNotice,
  takenBeforeHandedBack,
  ownershipPeriodsOf,
  type MemberHistory,
  type Overlap,
} from './ownership-periods.js';

const SLOWEST_COMMIT_MS = 100;

export interface OwnershipReport {
  readonly figures: Readonly<Record<string, number | string>>;
  readonly commitsInRevocations: number;
  /** Slow commits in revocations, at times when the machine was fast enough. */
  readonly slowCommits: readonly string[];
  /** Longest time for which the machine delayed a process. */
  readonly disturbedForMs: number;
  readonly failedInRevocations: readonly string[];
  readonly longestRevocationMs: number;
  readonly lostByOthers: readonly string[];
  readonly violations: readonly string[];
  readonly sharedInOneGeneration: readonly Overlap[];
  readonly takenBeforeHandedBack: readonly Overlap[];
  readonly commitsAfterTakeover: readonly MemberEvent[];
  readonly regressions: readonly Regression[];
  readonly completeness: Completeness;
  /** Partitions whose first record after the restart was not the one at the committed offset. */
  readonly startedElsewhere: readonly number[];
}

export interface RoundFindings {
  readonly settings: RoundSettings;
  readonly order: readonly string[];
  readonly takeoverMs: number;
  readonly histories: readonly MemberHistory[];
  /** The member that never hands over partitions: only this member may lose its partitions. */
  readonly stuck: string;
  readonly watch: CommittedWatch;
  readonly written: number;
  readonly completeness: Completeness;
  readonly committed: readonly Position[];
  readonly readAfterwards: readonly Handled[];
}

export function ownershipReport(findings: RoundFindings): OwnershipReport {
  const { settings, histories, stuck, watch, completeness } = findings;
  const ownershipPeriods = ownershipPeriodsOf(histories);
  const events = histories.flatMap((history) => history.events);
  const commits = events.filter((event) => event.kind === 'committed');
  const inside = commits.filter(({ insideRevocation }) => insideRevocation);
  const outside = commits.filter(({ insideRevocation }) => !insideRevocation);
  const disturbances = new MachineDelays(watch.polls, events);
  const others = histories.filter(({ name }) => name !== stuck);
  const longestRevocationMs = Math.max(0, ...others.flatMap(revocationsOf));
  return {
    figures: {
      seed: settings.seed,
      incidents: findings.order.join(', '),
      'session timeout ms': settings.sessionTimeoutMs,
      written: findings.written,
      'read after the restart': findings.readAfterwards.length,
      duplicates: completeness.duplicates,
      missing: completeness.missing.length,
      commits: commits.length,
      'in revocations': inside.length,
      'slowest in a revocation ms': Math.max(0, ...inside.map(tookMs)),
      'slowest elsewhere ms': Math.max(0, ...outside.map(tookMs)),
      'longest revocation ms': longestRevocationMs,
      'takeover from the stuck member ms': findings.takeoverMs,
      'longest ownership after a loss in ms': slowestToNotice(ownershipPeriods),
      'offset polls': watch.polls.length,
      'longest delay by the machine in ms': disturbances.longestMs,
    },
    commitsInRevocations: inside.length,
    slowCommits: inside
      .filter((commit) => tookMs(commit) > SLOWEST_COMMIT_MS)
      .filter(({ startedAt, at }) => !disturbances.during({ from: startedAt, to: at }))
      .map((commit) => `${tookMs(commit)} ms at ${commit.startedAt}`),
    disturbedForMs: disturbances.longestMs,
    failedInRevocations: others.flatMap((history) => failuresInRevocations(history)),
    longestRevocationMs,
    lostByOthers: others.flatMap(lossesOf),
    violations: histories.flatMap(({ name, events: reported }) =>
      reported.flatMap((event) => (event.kind === 'broke' ? `${name}: ${event.error}` : [])),
    ),
    sharedInOneGeneration: sharedInOneGeneration(ownershipPeriods),
    takenBeforeHandedBack: takenBeforeHandedBack(ownershipPeriods),
    commitsAfterTakeover: commitsAfterTakeover(histories, ownershipPeriods),
    regressions: watch.regressions,
    completeness,
    startedElsewhere: startedElsewhere(findings),
  };
}

function tookMs({ at, startedAt }: { readonly at: number; readonly startedAt: number }): number {
  return at - startedAt;
}

function revocationsOf({ events }: MemberHistory): number[] {
  return events.flatMap((event, index) => {
    if (event.kind !== 'revoked') return [];
    const begun = events.slice(0, index).findLast(({ kind }) => kind === 'revoking');
    return begun ? event.at - begun.at : [];
  });
}

function failuresInRevocations({ name, events }: MemberHistory): string[] {
  return events.flatMap((event) =>
    event.kind === 'commit-failed' && event.insideRevocation ? `${name}: ${event.error}` : [],
  );
}

function lossesOf({ name, events }: MemberHistory): string[] {
  return events.flatMap((event) =>
    event.kind === 'lost' ? `${name} lost ${event.partitions.join()} at ${event.at}` : [],
  );
}

function startedElsewhere({ committed, readAfterwards }: RoundFindings): number[] {
  return committed.flatMap(({ partition, offset }) => {
    const first = readAfterwards.find((record) => record.partition === partition);
    return first && first.offset !== offset ? partition : [];
  });
}
