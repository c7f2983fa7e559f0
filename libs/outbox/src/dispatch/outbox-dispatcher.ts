import { AsyncLocalStorage } from 'node:async_hooks';
import { duration, positiveInteger } from '../errors/checks.js';
import { errorName, errorText } from '../errors/describe-error.js';
import { UnroutableEventException } from '../errors/unroutable-event-exception.js';
import type { EventEnvelope } from '../model/event-envelope.js';
import { type SqlConnection, withConnection } from '../spi/sql-connection.js';
import { OutboxDispatcherBuilder } from './outbox-dispatcher-builder.js';
import type { OutboxDispatcherOptions } from './dispatcher-options.js';
import { FairQueues } from './fair-queues.js';
import { ListenerInvoker } from './listener-invoker.js';
import type { QueuedEvent } from './queued-event.js';
import { RecentIds } from './recent-ids.js';

/** How many finished events are remembered, so that a poll that has read them before drops them. */
const REMEMBERED_EVENTS = 10_000;

/** Executes listeners for events of a hot and a cold queue, and stores what became of them. */
export class OutboxDispatcher {
  readonly #queues: FairQueues;
  readonly #invoker: ListenerInvoker;
  readonly #done = new RecentIds(REMEMBERED_EVENTS);
  /** Listeners must not run in the context of the request whose commit has queued the event. */
  readonly #outsideRequests = AsyncLocalStorage.snapshot();
  #running = 0;
  #isOpen = true;
  #closing: Promise<void> | undefined;
  #onIdle: () => void = () => undefined;

  constructor(private readonly options: OutboxDispatcherOptions) {
    positiveInteger('workerCount', options.workerCount);
    positiveInteger('maxAttempts', options.maxAttempts);
    duration('drainTimeoutMs', options.drainTimeoutMs);
    this.#queues = new FairQueues(options.hotQueueCapacity, options.coldQueueCapacity);
    this.#invoker = new ListenerInvoker(
      options.listenerRegistry,
      options.interceptors,
      options.logger,
    );
  }

  static builder(): OutboxDispatcherBuilder<OutboxDispatcher> {
    return new OutboxDispatcherBuilder((options) => new OutboxDispatcher(options));
  }

  /** Returns false if the queue is full or the dispatcher is closed. */
  enqueueHot(event: QueuedEvent): boolean {
    const accepted = this.#enqueue({ ...event, source: 'HOT' });
    if (accepted) this.options.metrics.incrementHotEnqueued();
    return accepted;
  }

  /** Returns false if the queue is full or the dispatcher is closed. */
  enqueueCold(event: QueuedEvent): boolean {
    if (this.#done.has(event.envelope.eventId)) return this.#isOpen;
    const accepted = this.#enqueue({ ...event, source: 'COLD' });
    if (accepted) this.options.metrics.incrementColdEnqueued();
    return accepted;
  }

  coldQueueRemainingCapacity(): number {
    return this.#isOpen ? this.#queues.coldRemaining : 0;
  }

  /**
   * Accepts no more events and waits for those that are queued, at most for `drainTimeoutMs`. Events
   * that are left stay in the table.
   */
  close(): Promise<void> {
    return (this.#closing ??= this.#drain());
  }

  #enqueue(event: QueuedEvent): boolean {
    if (!this.#isOpen) return false;
    if (this.#queues.has(event.envelope.eventId)) return true;
    const accepted = this.#queues.offer(event);
    this.#recordDepths();
    this.#startWorkers();
    return accepted;
  }

  #startWorkers(): void {
    while (this.#running < this.options.workerCount) {
      const event = this.#queues.take();
      if (!event) return;
      this.#running++;
      void this.#outsideRequests(() => this.#work(event));
    }
  }

  /** One worker: handles events one at a time until the queues are empty. */
  async #work(first: QueuedEvent): Promise<void> {
    for (let event: QueuedEvent | undefined = first; event; event = this.#queues.take()) {
      this.#recordDepths();
      await this.#process(event);
    }
    this.#running--;
    if (this.#running === 0) this.#onIdle();
  }

  async #process(event: QueuedEvent): Promise<void> {
    const { envelope } = event;
    const { inFlightTracker, logger } = this.options;
    // A poll may read and finish an event before the hook of its commit has queued it.
    if (this.#done.has(envelope.eventId)) return;
    if (!inFlightTracker.tryAcquire(envelope.eventId)) return;
    try {
      const error = await this.#invoker.invoke(envelope);
      await withConnection(this.options.connectionProvider, (connection) =>
        error ? this.#fail(connection, event, error) : this.#succeed(connection, envelope),
      );
    } catch (failure) {
      logger.error(
        `The result of event ${envelope.eventId} could not be stored: ${errorName(failure)}. A later poll dispatches the event again.`,
      );
    } finally {
      inFlightTracker.release(envelope.eventId);
    }
  }

  async #succeed(connection: SqlConnection, { eventId }: EventEnvelope): Promise<void> {
    await this.options.outboxStore.markDone(connection, eventId);
    this.#done.add(eventId);
    this.options.metrics.incrementDispatchSuccess();
  }

  async #fail(connection: SqlConnection, event: QueuedEvent, error: Error): Promise<void> {
    const { outboxStore, maxAttempts, metrics, retryPolicy, runtime, logger } = this.options;
    const { eventId, eventType } = event.envelope;
    const attempts = event.attempts + 1;
    if (attempts >= maxAttempts || this.#isHopeless(error)) {
      await outboxStore.markDead(connection, eventId, errorText(error));
      metrics.incrementDispatchDead();
      logger.error(
        `Event ${eventId} of type ${eventType} is DEAD after ${attempts} attempts: ${errorName(error)}. Replay it with DeadEventManager when the cause is gone.`,
      );
      return;
    }
    const nextAt = runtime.now() + retryPolicy.computeDelayMs(attempts);
    await outboxStore.markRetry(connection, eventId, nextAt, errorText(error));
    metrics.incrementDispatchFailure();
  }

  #isHopeless(error: Error): boolean {
    return error instanceof UnroutableEventException && this.options.unroutable === 'dead';
  }

  async #drain(): Promise<void> {
    this.#isOpen = false;
    if (this.#running === 0) return;
    const { runtime, drainTimeoutMs, logger } = this.options;
    const isDrained = await new Promise<boolean>((resolve) => {
      const timer = runtime.setTimer(() => resolve(false), drainTimeoutMs, { background: true });
      this.#onIdle = () => {
        timer.cancel();
        resolve(true);
      };
    });
    if (isDrained) return;
    const left = this.#queues.hotSize + this.#queues.coldSize + this.#running;
    this.#queues.clear();
    logger.warn(
      `The dispatcher closed after ${drainTimeoutMs} ms with ${left} unfinished events. They stay in the table and are dispatched again.`,
    );
  }

  #recordDepths(): void {
    this.options.metrics.recordQueueDepths(this.#queues.hotSize, this.#queues.coldSize);
  }
}
