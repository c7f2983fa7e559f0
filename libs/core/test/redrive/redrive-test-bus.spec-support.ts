import type { TestingModule } from '@nestjs/testing';
import type { TopicBindingProperties } from '../../src/config/properties/topic-binding-properties.js';
import { EventBusEvents } from '../../src/events/event-bus-events.js';
import type { EventBusEvent } from '../../src/model/events/event-bus-events.js';
import { DltReplayService } from '../../src/redrive/dlt-replay-service.js';
import type { RedriveRun } from '../../src/redrive/running/redrive-run.js';
import type { RedriveReport } from '../../src/redrive/running/redrive-report.js';
import { RecordingTestBus } from '../support/recording-test-bus.spec-support.js';

/** One attempt and no tiers, so that a record fails once and is dead-lettered. */
export const AT_ONCE: Partial<TopicBindingProperties> = {
  provisioning: 'create',
  retry: { tier0: { maxAttempts: 1 }, tiers: [] },
  circuitBreaker: { enabled: false },
};

/** A bus whose handler fails until it is cured, with dead letters to replay. */
export class RedriveTestBus extends RecordingTestBus {
  application!: TestingModule;

  static async withLetters(
    values: readonly string[],
    properties: Partial<TopicBindingProperties> = AT_ONCE,
  ): Promise<RedriveTestBus> {
    const testBus = new RedriveTestBus();
    for (const topic of RecordingTestBus.topics) await testBus.topic(topic);
    testBus.application = await testBus.startHandler(properties);
    await testBus.fails(...values);
    return testBus;
  }

  get replay(): DltReplayService {
    return this.application.get(DltReplayService);
  }

  /** Writes records whose handler fails, and waits until they are dead letters. */
  async fails(...values: readonly string[]): Promise<void> {
    await this.write('orders', ...values);
    await this.runtime.advance(5_000);
  }

  /** The handler succeeds from now on. Forgets its earlier calls. */
  cure(): void {
    this.handle = () => undefined;
    this.calls.length = 0;
  }

  /** Returns the events of redrives from now on, in their order. */
  listen(): readonly EventBusEvent[] {
    const events: EventBusEvent[] = [];
    this.application
      .get(EventBusEvents)
      .all$.subscribe((event) => void (event.name.startsWith('redrive.') && events.push(event)));
    return events;
  }

  get handled(): readonly unknown[] {
    return this.calls.map(({ value }) => value);
  }

  finished(run: RedriveRun): Promise<RedriveReport> {
    return this.done(Promise.resolve(run));
  }
}
