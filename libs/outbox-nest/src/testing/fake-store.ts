import { AbstractOutboxStore, type OutboxEvent } from '@nest-event-bus/outbox';

/** Stores nothing: the commit of a transaction tells which events are written. */
export class FakeStore extends AbstractOutboxStore {
  readonly name = 'FakeStore';
  readonly failures: Error[] = [];

  override insertAll(): Promise<void> {
    const failure = this.failures.shift();
    return failure ? Promise.reject(failure) : Promise.resolve();
  }

  insertNew(): Promise<void> {
    return this.insertAll();
  }

  markDone(): Promise<number> {
    return Promise.resolve(0);
  }

  markRetry(): Promise<number> {
    return Promise.resolve(0);
  }

  markDead(): Promise<number> {
    return Promise.resolve(0);
  }

  pollPending(): Promise<readonly OutboxEvent[]> {
    return Promise.resolve([]);
  }
}
