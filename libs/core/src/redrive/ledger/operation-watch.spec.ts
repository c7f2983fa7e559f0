import type { BrokerRecord } from '@nest-event-bus/broker';
import { encodeEntry, ledgerKeys, type LedgerEntry } from './ledger-entry.js';
import { OperationWatch } from './operation-watch.js';

type Keyed = readonly [key: string, entry: LedgerEntry];

const VERDICT: Keyed = [
  ledgerKeys.verdict('plan', 'good'),
  { kind: 'verdict', verdict: 'good', good: 1, bad: 0, undecided: 0, node: 'other', at: 1 },
];
const PROGRESS: Keyed = [
  ledgerKeys.progress('plan', 1),
  { kind: 'progress', next: 9, replayed: 9, skipped: {}, failed: 0, isDone: true, at: 2 },
];

const recordOf = ([key, entry]: Keyed, partition: number, offset: number): BrokerRecord => ({
  topic: 'orders.DLT.ledger',
  ...{ partition, offset, timestamp: 0, leaderEpoch: 0, headers: [], sizeInBytes: 1 },
  key: Buffer.from(key),
  value: Buffer.from(encodeEntry(entry)),
});

describe('OperationWatch', () => {
  it('never knows progress that followed a verdict without the verdict', async () => {
    const ledger: Keyed[][] = [[], []];
    async function* readRange(_topic: string, partition: number, from: number) {
      const entries = [...ledger[partition]!];
      // Another node decides, and goes on, between the reads of two partitions.
      ledger[0] = [VERDICT];
      ledger[1] = [PROGRESS];
      for (const [offset, entry] of entries.entries())
        if (offset >= from) yield recordOf(entry, partition, offset);
    }
    const topics = {
      ...{ deadLetters: 'orders.DLT', deadLetterTopicId: 'id', deadLetterPartitions: [0, 1] },
      ...{ ledger: 'orders.DLT.ledger', ledgerPartitions: 2 },
    };
    const watch = new OperationWatch({ admin: { readRange }, topics }, 'plan');
    await watch.readAll();
    expect([watch.state.verdict?.verdict, watch.state.progress.size]).toEqual(['good', 0]);
    await watch.readAll();
    expect([watch.state.verdict?.verdict, watch.state.progress.size]).toEqual(['good', 1]);
  });
});
