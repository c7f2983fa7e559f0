import type { StormReport } from './storm-report.js';

/** Expectations for every storm, whatever its seed. */
export function expectUnharmed(report: StormReport, records: number): void {
  expect(report.failures).toEqual([]);
  expect(report.acknowledged).toBeGreaterThanOrEqual(records);
  expect(report.log).toEqual({ lost: [], duplicates: [], disordered: [] });
  expect(report.completeness.missing).toEqual([]);
  expect(report.completeness.misplaced).toEqual([]);
  expect(report.earlyCommits).toEqual([]);
  expect(report.regressions).toEqual([]);
  expect(report.doubleClaims).toEqual([]);
  expect(report.takenBeforeHandedBack).toEqual([]);
  expect(report.commitsAfterTakeover).toEqual([]);
  expect(report.violations).toEqual([]);
}

export function printStorm(scenario: string, { figures }: StormReport): void {
  const facts = Object.entries(figures).map(([name, value]) => `${name} ${value}`);
  process.stderr.write(`${scenario}: ${facts.join(', ')}\n`);
}
