import { EventEnvelope, type LeasedOutboxStore, withConnection } from '@nest-event-bus/outbox';
import type {
  StoreContractDatabase,
  StoreContractTransaction,
} from '@nest-event-bus/outbox/contract';
import { realRuntime } from '@nest-event-bus/broker/runtime';

const LONGEST_MS = 1_200_000;

export interface TrapOptions {
  /** How often the transactions overlap. A round has six commits to disk. */
  readonly rounds: number;
  /** Returns 0 <= x < 1. */
  readonly random: () => number;
}

/**
 * Transaction A opens first and commits last. A second one inserts and commits in between, while
 * claims read.
 */
export function commitOrderCases(
  open: () => Promise<StoreContractDatabase>,
  { rounds, random }: TrapOptions,
): void {
  let database: StoreContractDatabase;
  const transactions = new Set<StoreContractTransaction>();

  beforeEach(async () => {
    database = await open();
  });

  afterEach(async () => {
    // The tables cannot be dropped while a transaction of a failed test is open.
    for (const transaction of transactions) await transaction.rollback();
    transactions.clear();
    await database.close();
  });

  async function begin(): Promise<StoreContractTransaction> {
    const transaction = await database.begin();
    transactions.add(transaction);
    return transaction;
  }

  async function commit(transaction: StoreContractTransaction): Promise<void> {
    transactions.delete(transaction);
    await transaction.commit();
  }

  it(
    'skip no event of a transaction that commits last',
    async () => {
      const reader = new Reader(database, random);
      for (let round = 0; round < rounds; round++) {
        const early = await begin();
        await insert(early.connection, `a${round}`, 'early');
        const late = await begin();
        await insert(late.connection, `b${round}`, 'late');
        await commit(late);
        if (random() < 0.7) await reader.read();
        await commit(early);
        if (random() < 0.5) await reader.read();
      }
      await reader.readAll();
      const all = Array.from({ length: rounds }, (_, round) => [`a${round}`, `b${round}`]).flat();
      expect([...reader.ids].sort()).toEqual(all.sort());
    },
    LONGEST_MS,
  );

  it(
    'return the events of a key in the order of the commits if keys are locked',
    async () => {
      const reader = new Reader(database, random);
      const committed: string[] = [];
      const write = async (id: string): Promise<void> => {
        const transaction = await begin();
        if (random() < 0.5) await yieldTurns(random);
        await insert(transaction.connection, id, 'same');
        if (random() < 0.5) await yieldTurns(random);
        // The lock lasts until the commit, so nobody else of the key is between these two lines.
        committed.push(id);
        await commit(transaction);
      };
      for (let round = 0; round < rounds; round++) {
        const writers = [`a${round}`, `b${round}`, `c${round}`].map((id) => write(id));
        if (random() < 0.7) await reader.read();
        await Promise.all(writers);
      }
      await reader.readAll();
      expect(reader.ids).toEqual(committed);
    },
    LONGEST_MS,
  );

  it(
    'do not wait for a transaction that is open',
    async () => {
      const ids = Array.from({ length: 10 }, (_, index) => `e${index}`);
      const waiting = await begin();
      await insert(waiting.connection, 'open', 'early');
      const reader = new Reader(database, random);
      for (const id of ids) {
        const other = await begin();
        await insert(other.connection, id, 'late');
        await commit(other);
        await reader.read();
      }
      expect(reader.ids).toEqual(ids);
    },
    LONGEST_MS,
  );

  it(
    'do not stop each other when they run at the same time',
    async () => {
      const ids = Array.from({ length: 400 }, (_, index) => `e${index}`);
      const transaction = await begin();
      for (const [index, id] of ids.entries())
        await insert(transaction.connection, id, `k${index % 20}`);
      await commit(transaction);
      const readers = [1, 2, 3, 4].map(
        (number) => new Reader(database, random, `reader ${number}`),
      );
      // A reader finds nothing while the others hold all keys.
      while (readers.flatMap((reader) => reader.ids).length < ids.length)
        await Promise.all(readers.map((reader) => reader.read()));
      expect(readers.flatMap((reader) => reader.ids).sort()).toEqual([...ids].sort());
    },
    LONGEST_MS,
  );

  async function insert(connection: object, eventId: string, aggregateId: string): Promise<void> {
    const event = new EventEnvelope({
      eventId,
      eventType: 'CREATED',
      aggregateType: 'ORDER',
      aggregateId,
      payloadJson: '{}',
    });
    await database.store.insertAll(connection, [event], { lockKeys: true });
  }
}

class Reader {
  readonly ids: string[] = [];
  #claims = 0;

  constructor(
    private readonly database: StoreContractDatabase,
    private readonly random: () => number,
    private readonly name = 'claim',
  ) {}

  async read(): Promise<number> {
    const store = this.database.store as LeasedOutboxStore;
    const token = `${this.name}-${++this.#claims}`;
    return withConnection(this.database.provider, async (connection) => {
      const limit = 1 + Math.floor(this.random() * 10);
      const request = { token, leaseMs: 60_000, limit, order: 'key' } as const;
      const events = await store.lease(connection, request);
      this.ids.push(...events.map(({ eventId }) => eventId));
      const outcomes = events.map(({ eventId }) => ({ kind: 'done', eventId }) as const);
      const changed = await store.complete(connection, token, outcomes);
      expect(changed).toHaveLength(events.length);
      return events.length;
    });
  }

  async readAll(): Promise<void> {
    while ((await this.read()) > 0);
  }
}

async function yieldTurns(random: () => number): Promise<void> {
  for (let turn = 0; turn < random() * 20; turn++)
    await new Promise<void>((resolve) => realRuntime.defer(resolve));
}
