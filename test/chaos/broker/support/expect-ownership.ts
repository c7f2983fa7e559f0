import { LONG_REVOCATION_MS } from './ownership-round.js';
import type { OwnershipReport } from './ownership-report.js';

/** Checks what every round must keep, whatever its seed is. */
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
  // If the machine stopped all processes for a large part of the session timeout, members may lose
  // their membership without an error of the client.
  if (disturbedForMs > sessionTimeoutMs / 3) return;
  expect(report.lostByOthers).toEqual([]);
  expect(report.failedInRevocations).toEqual([]);
  expect(report.longestRevocationMs).toBeGreaterThanOrEqual(LONG_REVOCATION_MS);
}

export function print({ figures }: OwnershipReport): void {
  const lines = Object.entries(figures).map(([name, value]) => `  ${name}: ${value}`);
  process.stderr.write(`ownership of partitions\n${lines.join('\n')}\n`);
}
