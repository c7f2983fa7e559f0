import { LONG_REVOCATION_MS } from './ownership-round.js';
import type { OwnershipReport } from './ownership-report.js';

/** Expectations for every round, whatever its seed. */
export function expectOwnership(report: OwnershipReport, sessionTimeoutMs: number): void {
  const { completeness, disturbedForMs } = report;
  expect(completeness.missing).toEqual([]);
  expect(completeness.misplaced).toEqual([]);
  expect(report.startedElsewhere).toEqual([]);
  expect(report.regressions).toEqual([]);
  expect(report.sharedInOneGeneration).toEqual([]);
  expect(report.takenBeforeHandedBack).toEqual([]);
  expect(report.commitsAfterTakeover).toEqual([]);
  expect(report.violations).toEqual([]);
  expect(report.commitsInRevocations).toBeGreaterThan(0);
  expect(report.slowCommits).toEqual([]);
  // If the machine stops all processes for most of a session, members lose their membership through no fault
  // of their own.
  if (disturbedForMs > sessionTimeoutMs / 3) return;
  expect(report.lostByOthers).toEqual([]);
  expect(report.failedInRevocations).toEqual([]);
  expect(report.longestRevocationMs).toBeGreaterThanOrEqual(LONG_REVOCATION_MS);
}

export function print({ figures }: OwnershipReport): void {
  const lines = Object.entries(figures).map(([name, value]) => `  ${name}: ${value}`);
  process.stderr.write(`ownership of partitions\n${lines.join('\n')}\n`);
}
