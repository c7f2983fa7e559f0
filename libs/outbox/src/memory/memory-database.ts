import type { ConnectionProvider, ProvidedConnection } from '../spi/sql-connection.js';
import { KeyLocks } from './key-locks.js';
import type { MemoryRow } from './memory-row.js';

/** The rows of an outbox table in the memory of the process, with transactions for inserts. */
export class MemoryDatabase implements ConnectionProvider {
  readonly rows = new Map<string, MemoryRow>();
  readonly #locks = new KeyLocks();
  #sequence = 0;

  /** A connection outside any transaction: each call takes effect at once. */
  getConnection(): Promise<ProvidedConnection> {
    const connection = new MemoryConnection(this, this.#locks);
    return Promise.resolve({ connection, release: () => connection.end() });
  }

  begin(): MemoryTransaction {
    return new MemoryTransaction(this, this.#locks);
  }

  nextSequence(): number {
    return ++this.#sequence;
  }
}

export class MemoryConnection {
  readonly #keys = new Set<string>();

  constructor(
    protected readonly database: MemoryDatabase,
    private readonly locks: KeyLocks,
  ) {}

  insert(rows: readonly MemoryRow[]): void {
    for (const row of rows) {
      if (this.database.rows.has(row.eventId))
        throw new Error(`The event ${row.eventId} exists already.`);
      this.database.rows.set(row.eventId, row);
    }
  }

  async lock(keys: readonly string[]): Promise<void> {
    for (const key of [...new Set(keys)].sort())
      if (!this.#keys.has(key)) {
        this.#keys.add(key);
        await this.locks.acquire(key);
      }
  }

  end(): void {
    for (const key of this.#keys) this.locks.release(key);
    this.#keys.clear();
  }
}

/** Inserted rows are visible from the commit on. */
export class MemoryTransaction extends MemoryConnection {
  #pending: MemoryRow[] = [];

  override insert(rows: readonly MemoryRow[]): void {
    this.#pending.push(...rows);
  }

  commit(): void {
    super.insert(this.#pending);
    this.rollback();
  }

  rollback(): void {
    this.#pending = [];
    this.end();
  }
}
