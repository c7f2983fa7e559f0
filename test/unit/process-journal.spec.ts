import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  ProcessJournal,
  AcknowledgedCommits,
} from '../integration/core/support/process-journal.js';

const folder = mkdtempSync(join(tmpdir(), 'journals-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function journalOf(...lines: readonly string[]): ProcessJournal {
  const path = join(folder, 'journal');
  writeFileSync(path, `${lines.join('\n')}\n`);
  return new ProcessJournal(path);
}

const handled = (from: number, to: number, partition = 0): string[] =>
  Array.from({ length: to - from }, (_, index) => from + index).flatMap((offset) => [
    `began ${partition} ${offset}`,
    `done ${partition} ${offset}`,
  ]);
const uncommittedWorkOf = (...lines: readonly string[]) => {
  const journal = journalOf('assigned 0', ...lines);
  return journal.uncommittedWork(journal.commitsAfter(new AcknowledgedCommits()));
};

describe('A process journal', () => {
  it('counts done records without a commit', () => {
    expect(uncommittedWorkOf(...handled(0, 60), 'began 0 60')).toEqual([
      { running: 1, uncommitted: 60, commitPending: 0 },
    ]);
  });

  it('counts records that were done before the last commit was sent and are not in it', () => {
    const sent = ['commit', ...handled(6, 8), 'acknowledged 0 4 ', 'committed'];
    const expected = { running: 0, uncommitted: 4, commitPending: 2 };
    expect(uncommittedWorkOf(...handled(0, 6), ...sent)).toEqual([expected]);
    // A commit that follows at once has been sent by then, or there is none.
    expect(uncommittedWorkOf(...handled(0, 6), ...sent, 'settled')).toEqual([
      { ...expected, commitPending: 0 },
    ]);
    expect(uncommittedWorkOf(...handled(0, 6), ...sent, 'commit', 'settled')).toEqual([expected]);
  });

  it('ignores assignments that have ended, because their records were handed over', () => {
    expect(uncommittedWorkOf(...handled(0, 60), 'released 0')).toEqual([]);
    expect(uncommittedWorkOf('began 0 0', 'assigned 0', 'done 0 0', ...handled(1, 3))).toEqual([
      { running: 0, uncommitted: 2, commitPending: 0 },
    ]);
  });
});
