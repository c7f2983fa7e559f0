import { verdictOf } from './canary-verdict.js';

const MINUTE = 60_000;

describe('The verdict about a canary', () => {
  it.each([
    ['is good if all letters were handled', [3, 0, 0], undefined, 0, { verdict: 'good' }],
    [
      'is bad at the first letter that failed again',
      [1, 1, 5],
      undefined,
      0,
      { verdict: 'bad', reason: 'failed-again' },
    ],
    ['is undecided while a letter has no outcome', [9, 0, 1], undefined, 99 * MINUTE, undefined],
    ['is undecided without any letter', [0, 0, 0], undefined, 0, undefined],
    ['is undecided before the time limit', [1, 0, 1], MINUTE, MINUTE - 1, undefined],
    [
      'is bad after the time limit',
      [1, 0, 1],
      MINUTE,
      MINUTE,
      { verdict: 'bad', reason: 'undecided-for-too-long' },
    ],
  ] as const)('%s', (_, [good, bad, undecided], undecidedForMs, waitedMs, expected) => {
    const limit = undecidedForMs === undefined ? {} : { undecidedForMs };
    expect(verdictOf({ good, bad, undecided }, limit, waitedMs)).toEqual(expected);
  });
});
