import { MemoryDatabase, MemoryOutboxStore } from '../memory/index.js';
import { EventEnvelope } from '../model/event-envelope.js';
import type { OutboxEvent } from '../model/outbox-event.js';
import { AbstractOutboxStore } from './abstract-outbox-store.js';

/** A store of an application that has only the required operations. */
class SmallStore extends AbstractOutboxStore {
  readonly name = 'small';
  readonly #rows = new MemoryOutboxStore(new MemoryDatabase());
  readonly polls: unknown[] = [];
  readonly inserted: string[] = [];

  insertNew(_: object, { eventId }: EventEnvelope): Promise<void> {
    this.inserted.push(eventId);
    return Promise.resolve();
  }

  markDone = (connection: object, id: string) => this.#rows.markDone(connection, id);
  markRetry = (connection: object, id: string, nextAt: number, error: string) =>
    this.#rows.markRetry(connection, id, nextAt, error);
  markDead = (connection: object, id: string, error: string) =>
    this.#rows.markDead(connection, id, error);

  pollPending(...given: readonly unknown[]): Promise<readonly OutboxEvent[]> {
    this.polls.push(given);
    return Promise.resolve([]);
  }
}

describe('A store with only the required operations', () => {
  const connection = {};
  let store: SmallStore;
  beforeEach(() => (store = new SmallStore()));

  it('polls when it is asked for a claim', async () => {
    await store.claimPending(connection, 'owner', 7, 6, 5, 4);
    expect(store.polls).toEqual([[connection, 7, 5, 4]]);
  });

  it('inserts many events one by one, and locks no keys', async () => {
    const events = ['e1', 'e2'].map(
      (eventId) => new EventEnvelope({ eventId, eventType: 'A', payloadJson: '1' }),
    );
    await store.insertAll(connection, events);
    expect(store.inserted).toEqual(['e1', 'e2']);
    await expect(store.insertAll(connection, events, { lockKeys: true })).rejects.toMatchObject({
      code: 'OUTBOX_STORE_OPERATION_UNSUPPORTED',
    });
  });

  it.each([
    ['queryDead', (at: SmallStore) => at.queryDead(connection, { limit: 1 })],
    ['replayDead', (at: SmallStore) => at.replayDead(connection, 'e1', 0)],
    ['countDead', (at: SmallStore) => at.countDead(connection)],
  ])('says by name that it has no %s', async (operation, call) => {
    await expect(call(store)).rejects.toMatchObject({
      code: 'OUTBOX_STORE_OPERATION_UNSUPPORTED',
      message: expect.stringContaining(operation),
    });
  });
});
