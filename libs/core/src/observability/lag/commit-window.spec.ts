import { CommitWindow, WINDOW_POLLS, type Progress } from './commit-window.js';

/** Plays polls of one second, each with a committed offset and a lag. */
function progressOf(
  ...polls: readonly (readonly [committed: number, records: number])[]
): Progress {
  const window = new CommitWindow();
  polls.forEach(([committed, records], index) =>
    window.add({ at: index * 1_000, committed, records }),
  );
  return window.progress;
}

const full = (of: (index: number) => readonly [number, number]) =>
  Array.from({ length: WINDOW_POLLS }, (_, index) => of(index));

describe('CommitWindow.progress', () => {
  it('is fine while the window is not full', () => {
    expect(progressOf([5, 10], [5, 20])).toEqual({ kind: 'fine' });
  });

  it('is standing if there is lag and nothing was committed', () => {
    expect(progressOf(...full(() => [5, 10]))).toEqual({ kind: 'standing', overMs: 6_000 });
  });

  it('is growing if records were committed and the lag never decreased', () => {
    expect(progressOf(...full((index) => [index, 10 + index]))).toEqual({
      kind: 'growing',
      from: 10,
      overMs: 6_000,
    });
  });

  it('is fine if the lag decreased once', () => {
    const polls = full((index) => [index, index === 3 ? 5 : 10 + index]);
    expect(progressOf(...polls)).toEqual({ kind: 'fine' });
  });

  it('is fine if the lag stays the same while records are committed', () => {
    expect(progressOf(...full((index) => [index, 10]))).toEqual({ kind: 'fine' });
  });

  it('is fine after an idle time, however many records arrive at once', () => {
    const polls = full((index) => [5, index < WINDOW_POLLS - 1 ? 0 : 1_000_000]);
    expect(progressOf(...polls)).toEqual({ kind: 'fine' });
  });

  it('is rewound until the committed offset has recovered', () => {
    expect(progressOf([500, 0], [100, 400])).toEqual({ kind: 'rewound', from: 500, to: 100 });
    expect(progressOf([500, 0], [100, 400], [500, 10])).toEqual({ kind: 'fine' });
  });

  it('forgets polls that have left the window', () => {
    expect(progressOf([500, 0], ...full(() => [100, 400]))).toEqual({
      kind: 'standing',
      overMs: 6_000,
    });
  });
});
