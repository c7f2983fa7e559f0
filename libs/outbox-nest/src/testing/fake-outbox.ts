import {
  AggregateType,
  DefaultListenerRegistry,
  type EventEnvelope,
  type EventType,
  type OutboxEventListener,
  OutboxWriter,
  UnroutableEventException,
} from '@nest-event-bus/outbox';
import type { DynamicModule } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { Inbox } from '../inbox/inbox.js';
import { ListenerExplorer } from '../listener-explorer.js';
import { OutboxTransactions } from '../transactions/outbox-transactions.js';
import { FakeInbox } from './fake-inbox.js';
import { FAKE_OUTBOX, FakeOutboxModule } from './fake-outbox.module.js';
import { FakeStore } from './fake-store.js';
import { FakeTransactions } from './fake-transactions.js';

/** What a listener has made of an event. */
export interface PlayedEvent {
  readonly event: EventEnvelope;
  /** Null if the listener has succeeded. */
  readonly error: Error | null;
}

/**
 * An outbox for tests, without a database. It records what committed transactions have written, and
 * calls listeners when the test says so.
 */
export class FakeOutbox {
  readonly registry = new DefaultListenerRegistry();
  readonly transactions: OutboxTransactions;
  readonly writer: OutboxWriter;
  readonly inbox: Inbox;
  readonly #store = new FakeStore();
  readonly #fakeTransactions = new FakeTransactions();
  readonly #fakeInbox = new FakeInbox(this.#fakeTransactions);
  readonly #written: EventEnvelope[] = [];
  #waiting: EventEnvelope[] = [];

  constructor() {
    this.transactions = this.#fakeTransactions;
    const afterCommit = (events: readonly EventEnvelope[]): void => {
      this.#written.push(...events);
      this.#waiting.push(...events);
    };
    this.writer = new OutboxWriter(this.transactions.context, this.#store, { afterCommit });
    this.transactions.useWriter(() => this.writer);
    this.inbox = this.#fakeInbox;
  }

  /** Import it in place of `OutboxModule`. It finds the methods with `@OutboxListener`. */
  module(): DynamicModule {
    return {
      module: FakeOutboxModule,
      global: true,
      imports: [DiscoveryModule],
      providers: [
        ListenerExplorer,
        { provide: FAKE_OUTBOX, useValue: this },
        { provide: OutboxWriter, useValue: this.writer },
        { provide: OutboxTransactions, useValue: this.transactions },
        { provide: Inbox, useValue: this.inbox },
      ],
      exports: [OutboxWriter, OutboxTransactions, Inbox],
    };
  }

  /** The events of committed transactions, in the order of their commits. */
  get written(): readonly EventEnvelope[] {
    return [...this.#written];
  }

  /** The committed events that no listener has handled yet. */
  get waiting(): readonly EventEnvelope[] {
    return [...this.#waiting];
  }

  /** Registers a listener, as `routes` of the module do. */
  on(
    event: EventType | string,
    listener: OutboxEventListener['onEvent'],
    aggregate: AggregateType | string = AggregateType.GLOBAL,
  ): this {
    this.registry.register(aggregate, event, { onEvent: listener });
    return this;
  }

  /**
   * Calls the listeners of the events that wait. An event whose listener fails goes on waiting, so
   * the next call plays it again.
   */
  async play(): Promise<readonly PlayedEvent[]> {
    const played: PlayedEvent[] = [];
    for (const event of this.waiting) played.push({ event, error: await this.#call(event) });
    const failed = new Set(played.filter(({ error }) => error).map(({ event }) => event));
    this.#waiting = this.#waiting.filter(
      (event) => failed.has(event) || !played.some((each) => each.event === event),
    );
    return played;
  }

  /** Makes an event wait again, because an outbox may deliver it twice. */
  deliverAgain(eventId: string): void {
    this.#waiting.push(...this.#written.filter((event) => event.eventId === eventId));
  }

  /** Lets the next writes fail, as a database that is gone. */
  failWrites(error: Error, times = 1): void {
    this.#store.failures.push(...Array.from({ length: times }, () => error));
  }

  /** Lets the next commits fail. Their transactions are rolled back. */
  failCommits(error: Error, times = 1): void {
    this.#fakeTransactions.failures.push(...Array.from({ length: times }, () => error));
  }

  /** Forgets all events and failures, and what the inbox has handled. */
  reset(): void {
    this.#written.length = 0;
    this.#waiting = [];
    this.#store.failures.length = 0;
    this.#fakeTransactions.failures.length = 0;
    this.#fakeInbox.forget();
  }

  async #call(event: EventEnvelope): Promise<Error | null> {
    const { eventId, aggregateType, eventType } = event;
    const listener = this.registry.listenerFor(aggregateType, eventType);
    if (!listener) return new UnroutableEventException(eventId, aggregateType, eventType);
    try {
      await listener.onEvent(event);
      return null;
    } catch (error) {
      return error instanceof Error ? error : new Error(`A ${typeof error} was thrown.`);
    }
  }
}
