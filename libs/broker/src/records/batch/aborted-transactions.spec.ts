import { AbortedTransactions } from './aborted-transactions.js';

describe('AbortedTransactions', () => {
  it('treats a producer as aborted from the first offset of the transaction up to its marker, and not after it', () => {
    const aborted = new AbortedTransactions([{ producerId: 1n, firstOffset: 10 }]);
    expect(aborted.isAborted(1n, 9)).toBe(false);
    expect(aborted.isAborted(1n, 10)).toBe(true);
    expect(aborted.isAborted(1n, 15)).toBe(true);
    aborted.end(1n, 16, 'abort');
    expect(aborted.isAborted(1n, 17)).toBe(false);
  });

  it('treats a batch as aborted if it contains the first offset of the transaction', () => {
    const aborted = new AbortedTransactions([{ producerId: 1n, firstOffset: 12 }]);
    expect(aborted.isAborted(1n, 14)).toBe(true);
  });

  it('ends each of several overlapping transactions at its own marker', () => {
    const aborted = new AbortedTransactions([
      { producerId: 1n, firstOffset: 0 },
      { producerId: 2n, firstOffset: 1 },
    ]);
    expect(aborted.isAborted(1n, 0)).toBe(true);
    expect(aborted.isAborted(2n, 1)).toBe(true);
    aborted.end(1n, 2, 'abort');
    expect(aborted.isAborted(2n, 3)).toBe(true);
    expect(aborted.isAborted(1n, 4)).toBe(false);
    aborted.end(2n, 5, 'abort');
    expect(aborted.isAborted(2n, 6)).toBe(false);
  });

  it('returns the same result for an unsorted list, and does not change the list', () => {
    const list = [
      { producerId: 2n, firstOffset: 20 },
      { producerId: 1n, firstOffset: 5 },
    ];
    const aborted = new AbortedTransactions(list);
    expect(aborted.isAborted(1n, 5)).toBe(true);
    expect(aborted.isAborted(2n, 5)).toBe(false);
    expect(aborted.isAborted(2n, 20)).toBe(true);
    expect(list[0]?.firstOffset).toBe(20);
  });

  it('treats two aborted transactions of one producer separately', () => {
    const aborted = new AbortedTransactions([
      { producerId: 1n, firstOffset: 0 },
      { producerId: 1n, firstOffset: 10 },
    ]);
    aborted.end(1n, 3, 'abort');
    expect(aborted.isAborted(1n, 5)).toBe(false);
    expect(aborted.isAborted(1n, 11)).toBe(true);
  });

  it('does not end an aborted transaction at the commit marker of another producer', () => {
    const aborted = new AbortedTransactions([{ producerId: 1n, firstOffset: 0 }]);
    aborted.end(2n, 1, 'commit');
    expect(aborted.isAborted(1n, 2)).toBe(true);
    expect(aborted.isAborted(2n, 2)).toBe(false);
  });

  it('distinguishes producers by all 64 bits of their ids', () => {
    const aborted = new AbortedTransactions([{ producerId: 2n ** 53n, firstOffset: 0 }]);
    expect(aborted.isAborted(2n ** 53n + 1n, 1)).toBe(false);
    expect(aborted.isAborted(2n ** 53n, 1)).toBe(true);
  });
});
