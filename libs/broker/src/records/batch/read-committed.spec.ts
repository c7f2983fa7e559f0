import {
  batchOf,
  marker,
  transactional,
  readerOf,
  drain,
} from './record-batch-reader.spec-support.js';

describe('RecordBatchReader with read_committed', () => {
  it('never returns control batches, and the position moves past them', () => {
    const reader = readerOf([transactional(1n, 0, 1), marker('commit', 1n, 2), batchOf([3])]);
    expect(drain(reader)).toEqual([0, 1, 3]);
    const last = readerOf([batchOf([0]), marker('commit', 1n, 1)]);
    expect([drain(last), last.position]).toEqual([[0], 2]);
  });

  it('skips aborted batches, and the position moves past them', () => {
    const bytes = [transactional(1n, 0, 1), marker('abort', 1n, 2)];
    const reader = readerOf(bytes, { abortedTransactions: [{ producerId: 1n, firstOffset: 0 }] });
    expect([drain(reader), reader.position]).toEqual([[], 3]);
  });

  it('ends each of several overlapping transactions at its own marker, also if their list is unsorted', () => {
    const reader = readerOf(
      [
        transactional(1n, 0),
        transactional(2n, 1),
        transactional(3n, 2),
        marker('abort', 1n, 3),
        transactional(2n, 4),
        transactional(1n, 5),
        marker('abort', 2n, 6),
        marker('commit', 1n, 7),
        marker('commit', 3n, 8),
        transactional(2n, 9),
      ],
      {
        abortedTransactions: [
          { producerId: 2n, firstOffset: 1 },
          { producerId: 1n, firstOffset: 0 },
        ],
      },
    );
    expect(drain(reader)).toEqual([2, 5, 9]);
  });

  it('skips the records of two aborted transactions that both started before the fetch offset (kafkajs returns one of them)', () => {
    const reader = readerOf(
      [
        transactional(2n, 10),
        transactional(1n, 11),
        marker('abort', 1n, 12),
        marker('abort', 2n, 13),
      ],
      {
        fetchOffset: 10,
        abortedTransactions: [
          { producerId: 1n, firstOffset: 3 },
          { producerId: 2n, firstOffset: 5 },
        ],
      },
    );
    expect([drain(reader), reader.position]).toEqual([[], 14]);
  });

  it('skips the records of an aborted transaction that started before the fetch offset', () => {
    const reader = readerOf([transactional(1n, 20), marker('abort', 1n, 21), batchOf([22])], {
      fetchOffset: 20,
      abortedTransactions: [{ producerId: 1n, firstOffset: 3 }],
    });
    expect(drain(reader)).toEqual([22]);
  });

  it('returns an idempotent batch without a transaction of a producer whose transaction was aborted', () => {
    const plain = batchOf([1], { producerId: 1n, producerEpoch: 0, baseSequence: 0 });
    const abortedTransactions = [{ producerId: 1n, firstOffset: 0 }];
    expect(drain(readerOf([plain], { abortedTransactions }))).toEqual([1]);
  });

  it('returns aborted records with read_uncommitted, but no control batches', () => {
    const reader = readerOf([transactional(1n, 0), marker('abort', 1n, 1)], {
      isolation: 'read_uncommitted',
      abortedTransactions: [{ producerId: 1n, firstOffset: 0 }],
    });
    expect([drain(reader), reader.position]).toEqual([[0], 2]);
  });
});
