import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { EventBusConnector, LagService } from '@nest-event-bus/core';
import type { INestApplicationContext } from '@nestjs/common';
import { OrdersTestBus } from './orders-test-bus.js';

const SEND_EVERY_MS = 50;
const POLL_EVERY_MS = 500;
const PATIENCE_MS = 120_000;

export interface PacedSettings {
  readonly brokers: readonly string[];
  readonly perSecond: number;
  /** Duration of each of both phases. */
  readonly phaseMs: number;
}

/** How far the seconds of lag were from the truth, at most. */
export interface LagErrors {
  /** While handlers work at half the rate. */
  readonly whileBehindMs: number;
  /** While the binding is stopped, so that no record is held. */
  readonly whileStoppedMs: number;
  /** The largest lag that was measured. */
  readonly largestMs: number;
  /** Written records per second. A busy machine does not reach the wanted rate. */
  readonly reached: number;
  /** The longest time between two polls. */
  readonly longestGapMs: number;
}

/**
 * Writes records at a fixed rate, and compares the seconds of lag with the time at which the first
 * unfinished record was written.
 */
export class PacedOrders {
  readonly #bus: OrdersTestBus;
  /** Time of the write of each offset. */
  readonly #writtenAt: number[] = [];
  #handled = 0;
  #isWriting = true;
  #largestMs = 0;
  #longestGapMs = 0;

  constructor(private readonly settings: PacedSettings) {
    this.#bus = new OrdersTestBus(settings.brokers);
  }

  async run(): Promise<LagErrors> {
    const { phaseMs } = this.settings;
    await this.#bus.createTopics();
    this.#bus.handle = () => this.#handleAtHalfRate();
    const application = await this.#bus.start(
      { retry: { tiers: [] } },
      { lag: { intervalMs: 3_600_000 } },
    );
    const startedAt = realRuntime.monotonic();
    const writing = this.#write(startedAt);
    await this.#bus.until('the first records', () => this.#handled > 0, PATIENCE_MS);
    const whileBehindMs = await this.#largestError(application, phaseMs);
    await application.get(EventBusConnector).stop('orders');
    const whileStoppedMs = await this.#largestError(application, phaseMs);
    this.#isWriting = false;
    await writing;
    const seconds = (realRuntime.monotonic() - startedAt) / 1_000;
    const reached = this.#writtenAt.length / seconds;
    const [largestMs, longestGapMs] = [this.#largestMs, this.#longestGapMs];
    return { whileBehindMs, whileStoppedMs, largestMs, reached, longestGapMs };
  }

  end(): Promise<void> {
    return this.#bus.end();
  }

  async #write(startedAt: number): Promise<void> {
    const { topic } = this.#bus;
    const driver = kafkajs({ brokers: this.settings.brokers });
    const producer = driver.producer();
    try {
      while (this.#isWriting) {
        const elapsedMs = realRuntime.monotonic() - startedAt;
        const due = Math.floor((elapsedMs * this.settings.perSecond) / 1_000);
        const timestamp = realRuntime.now();
        const count = due - this.#writtenAt.length;
        const record = { topic, partition: 0, value: '1', timestamp };
        for (let index = 0; index < count; index++) this.#writtenAt.push(timestamp);
        if (count > 0) await producer.send(Array.from({ length: count }, () => record));
        await sleep(realRuntime, SEND_EVERY_MS);
      }
    } finally {
      await driver.close();
    }
  }

  async #handleAtHalfRate(): Promise<void> {
    while (this.#handled * 2 > this.#writtenAt.length) await sleep(realRuntime, SEND_EVERY_MS);
    this.#handled++;
  }

  /** Polls again and again, and returns the largest distance from the truth in milliseconds. */
  async #largestError(application: INestApplicationContext, forMs: number): Promise<number> {
    const service = application.get(LagService);
    const until = realRuntime.monotonic() + forMs;
    let largest = 0;
    let polledAt = realRuntime.monotonic();
    while (realRuntime.monotonic() < until) {
      await sleep(realRuntime, POLL_EVERY_MS);
      const [headBefore, before] = [this.#handled, realRuntime.now()];
      await service.refresh();
      const [headAfter, after] = [this.#handled, realRuntime.now()];
      this.#longestGapMs = Math.max(this.#longestGapMs, realRuntime.monotonic() - polledAt);
      polledAt = realRuntime.monotonic();
      const lag = service.of('orders');
      if (lag?.seconds === undefined || lag.error !== undefined)
        throw new Error(lag?.error ?? 'The lag has no seconds.');
      const measured = lag.seconds * 1_000;
      // The record at the head may have changed during the poll, so the truth is a range.
      const [least, most] = [
        before - this.#writtenAt[headAfter]!,
        after - this.#writtenAt[headBefore]!,
      ];
      largest = Math.max(largest, least - measured, measured - most);
      this.#largestMs = Math.max(this.#largestMs, measured);
    }
    return largest;
  }
}
