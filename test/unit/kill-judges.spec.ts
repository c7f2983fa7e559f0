import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { JournalOfLife, Recordings } from '../integration/core/journal-of-life.js';

const folder = mkdtempSync(join(tmpdir(), 'journals-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function lifeOf(...lines: readonly string[]): JournalOfLife {
  const path = join(folder, 'journal');
  writeFileSync(path, `${lines.join('\n')}\n`);
  return new JournalOfLife(path);
}

const handled = (from: number, to: number, partition = 0): string[] =>
  Array.from({ length: to - from }, (_, index) => from + index).flatMap((offset) => [
    `began ${partition} ${offset}`,
    `done ${partition} ${offset}`,
  ]);
const exposureOf = (...lines: readonly string[]) => {
  const life = lifeOf('assigned 0', ...lines);
  return life.exposures(life.recordedAfter(new Recordings()));
};

describe('what a kill would notice', () => {
  it('records that are done and that nobody commits', () => {
    expect(exposureOf(...handled(0, 60), 'began 0 60')).toEqual([
      { running: 1, unsaved: 60, underWay: 0 },
    ]);
  });

  it('records that are done before the last commit was sent, and are not in it', () => {
    const sent = ['commit', ...handled(6, 8), 'acknowledged 0 4 ', 'committed'];
    const exposure = { running: 0, unsaved: 4, underWay: 2 };
    expect(exposureOf(...handled(0, 6), ...sent)).toEqual([exposure]);
    // The one that follows at once has been sent by then, or there is none.
    expect(exposureOf(...handled(0, 6), ...sent, 'settled')).toEqual([
      { ...exposure, underWay: 0 },
    ]);
    expect(exposureOf(...handled(0, 6), ...sent, 'commit', 'settled')).toEqual([exposure]);
  });

  it('nothing of an assignment that has ended: all of that was given back', () => {
    expect(exposureOf(...handled(0, 60), 'released 0')).toEqual([]);
    expect(exposureOf('began 0 0', 'assigned 0', 'done 0 0', ...handled(1, 3))).toEqual([
      { running: 0, unsaved: 2, underWay: 0 },
    ]);
  });
});
