import type { OutboxEvent } from '../model/outbox-event.js';
import type { EventPurger } from '../spi/event-purger.js';
import type { LeasedOutboxStore } from '../spi/leased-outbox-store.js';
import type { OutboxStore } from '../spi/outbox-store.js';
import type { ConnectionProvider, SqlConnection } from '../spi/sql-connection.js';

/** The part of a test framework that the suite uses. Jest, Vitest, Mocha and node:test have it. */
export interface TestFramework {
  readonly describe: (name: string, body: () => void) => unknown;
  readonly it: (name: string, run: () => Promise<void>) => unknown;
}

export interface StoreContractFixture {
  /** Opens an empty outbox table of its own for one test. */
  open(): Promise<StoreContractDatabase>;
  /** The store has the operations of the leased mode. The cases of that mode run only then. */
  readonly leased: boolean;
  /** The store has an inspection. Its cases run only then. */
  readonly inspected: boolean;
  /** The store keeps bytes that are not JSON. */
  readonly binaryPayloads: boolean;
}

export interface StoreContractDatabase {
  readonly store: OutboxStore | LeasedOutboxStore;
  readonly provider: ConnectionProvider;
  readonly purgers: { readonly status: EventPurger; readonly age: EventPurger };
  /** Begins a transaction on a connection of its own. */
  begin(): Promise<StoreContractTransaction>;
  /** Returns all rows of the table. */
  readAll(): Promise<readonly OutboxEvent[]>;
  /** Returns the time of the clock by which leases end. */
  now(): Promise<number>;
  /** Returns when that clock has advanced by this time. */
  waitFor(ms: number): Promise<void>;
  /** Removes the table and closes all connections. */
  close(): Promise<void>;
}

export interface StoreContractTransaction {
  readonly connection: SqlConnection;
  commit(): Promise<void>;
  rollback(): Promise<void>;
}
