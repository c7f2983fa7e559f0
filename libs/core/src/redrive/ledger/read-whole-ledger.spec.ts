import type { BrokerRecord } from '@nest-event-bus/broker';
import { encodeEntry, ledgerKeys, type LedgerEntry } from './ledger-entry.js';
import { LedgerCache } from './ledger-cache.js';
import { readWholeLedger } from './read-whole-ledger.js';

const control = (by: string): LedgerEntry => ({ kind: 'control', command: 'run', by, at: 1 });
const keyOf = (operation: string): string => ledgerKeys.control(operation, 'run');

/** A partition of a ledger, and which of its records were fetched. */
class Ledger {
  records: BrokerRecord[] = [];
  readonly fetched: number[] = [];
  id = 'ledger-id';
  /** Called once, before the next record is returned. */
  onFetch: (() => void) | undefined;

  add(operation: string, by: string | null): void {
    const entry = by === null ? null : Buffer.from(encodeEntry(control(by)));
    this.records.push({
      ...{ topic: 'ledger', partition: 0, offset: this.next, timestamp: 0, leaderEpoch: 0 },
      ...{ key: Buffer.from(keyOf(operation)), value: entry, headers: [], sizeInBytes: 1 },
    });
  }

  get next(): number {
    return (this.records.at(-1)?.offset ?? -1) + 1;
  }

  async *readRange(_topic: string, _partition: number, from: number) {
    for (const record of this.records.filter(({ offset }) => offset >= from)) {
      this.fetched.push(record.offset);
      this.onFetch?.();
      this.onFetch = undefined;
      yield record;
    }
  }

  async read(cache: LedgerCache | undefined): Promise<readonly string[]> {
    this.fetched.length = 0;
    const topics = { ledger: 'ledger', ledgerId: this.id, cache };
    const entries: string[] = [];
    for await (const { entry, key, offset } of readWholeLedger({
      ...{ admin: this, topics, partition: 0 },
    }))
      entries.push(`${offset} ${key} ${entry?.kind === 'control' ? entry.by : 'deleted'}`);
    return entries;
  }
}

const line = (offset: number, operation: string, by: string): string =>
  `${offset} ${keyOf(operation)} ${by}`;

describe('Reading a whole ledger', () => {
  function ledgerOf(...operations: readonly string[]): Ledger {
    const ledger = new Ledger();
    for (const operation of operations) ledger.add(operation, 'ann');
    return ledger;
  }

  it('fetches an entry once, and returns the last one of each key', async () => {
    const [ledger, cache] = [ledgerOf('a', 'b', 'c'), new LedgerCache()];
    await ledger.read(cache);
    ledger.add('a', 'bob');
    ledger.add('d', 'bob');
    const second = await ledger.read(cache);
    expect(ledger.fetched).toEqual([2, 3, 4]);
    const third = await ledger.read(cache);
    expect(ledger.fetched).toEqual([4]);
    expect(third).toEqual([
      line(1, 'b', 'ann'),
      line(2, 'c', 'ann'),
      line(3, 'a', 'bob'),
      line(4, 'd', 'bob'),
    ]);
    // The first read of a new entry also returns the one that it replaces, as the ledger does.
    expect(second).toEqual([line(0, 'a', 'ann'), ...third]);
  });

  it('drops deleted entries, and keeps the end of what was read', async () => {
    const [ledger, cache] = [ledgerOf('a', 'b'), new LedgerCache()];
    ledger.add('a', null);
    await ledger.read(cache);
    expect(await ledger.read(cache)).toEqual([line(1, 'b', 'ann'), line(2, 'a', 'deleted')]);
    ledger.add('c', 'bob');
    await ledger.read(cache);
    expect(await ledger.read(cache)).toEqual([line(1, 'b', 'ann'), line(3, 'c', 'bob')]);
  });

  it.each([
    ['was truncated', (ledger: Ledger) => ledger.records.splice(1)],
    [
      'was truncated and written again',
      (ledger: Ledger) => {
        ledger.records.splice(1);
        for (const operation of ['x', 'y', 'z']) ledger.add(operation, 'bob');
      },
    ],
    ['was compacted', (ledger: Ledger) => ledger.records.splice(2, 1)],
    [
      'was created again',
      (ledger: Ledger) => {
        ledger.id = 'another-id';
        ledger.records = [];
        ledger.add('x', 'bob');
      },
    ],
  ])('begins again if the ledger %s', async (_, change) => {
    const [ledger, cache] = [ledgerOf('a', 'b', 'c'), new LedgerCache()];
    await ledger.read(cache);
    change(ledger);
    expect(await ledger.read(cache)).toEqual(await ledger.read(undefined));
  });

  it('knows nothing twice after several reads at once', async () => {
    const [ledger, cache] = [ledgerOf('a', 'b', 'c', 'd'), new LedgerCache()];
    const all = await ledger.read(undefined);
    const reads = await Promise.all([ledger.read(cache), ledger.read(cache), ledger.read(cache)]);
    expect(reads).toEqual([all, all, all]);
    expect(await ledger.read(cache)).toEqual(all);
  });

  it('returns all entries if they are forgotten during a read', async () => {
    const [ledger, cache] = [ledgerOf('a', 'b', 'c'), new LedgerCache()];
    const all = await ledger.read(cache);
    ledger.onFetch = () => cache.entriesOf(ledger.id, 0).forget();
    expect(await ledger.read(cache)).toEqual(all);
    expect(await ledger.read(cache)).toEqual(all);
    expect(ledger.fetched).toEqual([2]);
  });

  it('forgets a ledger that is too large to be kept', async () => {
    const [ledger, cache] = [ledgerOf('a', 'b', 'c'), new LedgerCache(2)];
    await ledger.read(cache);
    expect(await ledger.read(cache)).toHaveLength(3);
    expect(ledger.fetched).toEqual([0, 1, 2]);
  });
});
