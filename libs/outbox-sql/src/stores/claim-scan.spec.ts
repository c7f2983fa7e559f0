import { ClaimScan, type SequenceRange } from './claim-scan.js';

/** Pending events by their number; those that are not free belong to held keys. */
class Table {
  readonly pending = new Map<number, 'free' | 'held'>();
  ranges: SequenceRange[] = [];

  fill(from: number, to: number, state: 'free' | 'held'): void {
    for (let number = from; number <= to; number++) this.pending.set(number, state);
  }

  readonly first = (after: number): Promise<number | null> => {
    const behind = [...this.pending.keys()].filter((number) => number > after);
    return Promise.resolve(behind.length === 0 ? null : Math.min(...behind));
  };

  /** Takes at most five. */
  readonly lease = (range: SequenceRange): Promise<number> => {
    this.ranges.push(range);
    const taken = [...this.pending]
      .filter(
        ([number, state]) => state === 'free' && number > range.after && number <= range.until,
      )
      .slice(0, 5);
    for (const [number] of taken) this.pending.delete(number);
    return Promise.resolve(taken.length);
  };
}

describe('ClaimScan', () => {
  let now: number;
  let table: Table;
  let scan: ClaimScan;
  beforeEach(() => {
    now = 1;
    table = new Table();
    scan = new ClaimScan({ monotonic: () => now }, 10);
  });

  const claim = async (): Promise<{ leased: number; windows: number }> => {
    table.ranges = [];
    return { leased: await scan.run(table), windows: table.ranges.length };
  };

  /** Searches all windows, which takes the time. */
  const restAfterSearch = async (ms: number): Promise<void> => {
    const { lease } = table;
    const slow = jest.spyOn(table, 'lease').mockImplementationOnce((range) => {
      now += ms;
      return lease(range);
    });
    await claim();
    slow.mockRestore();
  };

  it('runs no statement that leases while there is nothing', async () => {
    expect(await claim()).toEqual({ leased: 0, windows: 0 });
  });

  it('leases from the first window that has free events, and starts there the next time', async () => {
    table.fill(1, 100, 'held');
    table.fill(101, 130, 'free');
    expect(await claim()).toEqual({ leased: 5, windows: 11 });
    expect(await claim()).toEqual({ leased: 5, windows: 1 });
    expect(await claim()).toEqual({ leased: 5, windows: 1 });
    expect(await claim()).toEqual({ leased: 5, windows: 1 });
  });

  it('looks at the first window again after a second', async () => {
    table.fill(1, 100, 'held');
    table.fill(101, 130, 'free');
    await claim();
    table.pending.set(1, 'free');
    now += 999;
    await claim();
    expect(table.pending.has(1)).toBe(true);
    now += 1;
    expect(await claim()).toEqual({ leased: 1, windows: 1 });
  });

  it('looks at the first window when there is nothing behind the remembered place', async () => {
    table.fill(1, 100, 'held');
    table.fill(101, 105, 'free');
    await claim();
    table.pending.set(1, 'free');
    expect((await claim()).leased).toBe(1);
  });

  it('looks only at the first and the last windows for ten times as long as a search that found nothing took', async () => {
    table.fill(1, 100, 'held');
    const { first } = table;
    jest.spyOn(table, 'first').mockImplementation((after) => {
      now += 1;
      return first(after);
    });
    expect((await claim()).windows).toBe(10);
    expect((await claim()).windows).toBe(3);
    now += 150;
    expect((await claim()).windows).toBe(10);
  });

  it.each([100, 5])(
    'leases new events while it rests behind %d events of held keys',
    async (held) => {
      table.fill(1, held, 'held');
      await restAfterSearch(1);
      table.fill(held + 20, held + 22, 'free');
      expect((await claim()).leased).toBe(3);
    },
  );

  it('leases an event of a transaction that was open during the search', async () => {
    table.fill(1, 89, 'held');
    table.fill(91, 91, 'held');
    await restAfterSearch(1);
    table.fill(90, 90, 'free');
    expect((await claim()).leased).toBe(1);
  });

  it('rests for at most five seconds', async () => {
    table.fill(1, 100, 'held');
    await restAfterSearch(10_000);
    now += 4_999;
    expect((await claim()).windows).toBe(3);
    now += 1;
    expect((await claim()).windows).toBe(10);
  });

  it('finds an event that becomes free in the first window also while it rests', async () => {
    table.fill(1, 100, 'held');
    await claim();
    table.pending.set(3, 'free');
    expect((await claim()).leased).toBe(1);
  });
});
