import type { BrokerRecord } from '@nest-event-bus/broker';
import { PartitionStates } from '../ledger/partition-states.js';
import { LetterSelection } from '../planning/letter-selection.js';
import { letterBatches, type LetterBatch } from './letter-batches.js';

const OWNER = { name: 'orders', groupId: 'shop', topic: 'orders', dlt: { topic: 'orders.DLT' } };

/** A dead letter of the binding, with its offset as key. */
const letterAt = (offset: number): BrokerRecord => ({
  topic: 'orders.DLT',
  partition: 0,
  offset,
  timestamp: 0,
  leaderEpoch: 0,
  key: Buffer.from(String(offset)),
  value: Buffer.from('1'),
  headers: [],
  sizeInBytes: 100,
});

async function batchesOf(letters: number, key: string): Promise<readonly LetterBatch[]> {
  const selection = new LetterSelection({ owner: OWNER, filter: { key }, maxReplays: 3 });
  const planned = { partition: 0, from: 0, to: letters, selected: 1, ledgerEnd: 0 };
  async function* readRange(): AsyncGenerator<BrokerRecord, void> {
    for (let offset = 0; offset < letters; offset++) yield letterAt(offset);
  }
  const batches = letterBatches({
    admin: { readRange },
    topic: 'orders.DLT',
    planned,
    from: 0,
    states: new PartitionStates({ topicId: 'id', partition: 0 }),
    selection,
    batchSize: () => 1_000,
    signal: new AbortController().signal,
  });
  const found: LetterBatch[] = [];
  for await (const batch of batches) found.push(batch);
  return found;
}

describe('Batches of letters', () => {
  it('are also returned for a long stretch without a selected letter, so that progress is kept', async () => {
    const batches = await batchesOf(50_000, '49999');
    expect(batches.map(({ letters, next }) => [letters.length, next])).toEqual([
      [0, 20_000],
      [0, 40_000],
      [1, 50_000],
    ]);
  });
});
