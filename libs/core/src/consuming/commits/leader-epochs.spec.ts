import { LeaderEpochs } from './leader-epochs.js';

describe('LeaderEpochs', () => {
  it('returns the epoch of the last record before the offset, not of the last one received', () => {
    const epochs = new LeaderEpochs(2);
    epochs.note(10, 3);
    epochs.note(11, 3);
    epochs.note(15, 4);
    expect([10, 11, 15, 16].map((offset) => epochs.before(offset))).toEqual([2, 3, 3, 4]);
  });

  it('returns the epoch of the record at an offset', () => {
    const epochs = new LeaderEpochs(2);
    epochs.note(10, 3);
    epochs.note(15, 4);
    expect([9, 10, 14, 15].map((offset) => epochs.at(offset))).toEqual([2, 3, 3, 4]);
  });

  it('follows a rewind into records that were written again', () => {
    const epochs = new LeaderEpochs(-1);
    epochs.note(0, 1);
    epochs.note(5, 2);
    epochs.note(3, 3);
    expect([epochs.before(3), epochs.before(9)]).toEqual([1, 3]);
  });
});
