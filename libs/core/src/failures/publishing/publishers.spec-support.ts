import type { BrokerDriver, BrokerRecord, DriverLogger } from '@nest-event-bus/broker';
import { memory, MemoryBroker } from '@nest-event-bus/broker/memory';
import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import type { ResolvedDlt } from '../../config/resolving/resolved-binding.js';
import { OngoingProblems } from '../../problems/ongoing-problems.js';
import { PublishProblemTracker } from './publish-problem-tracker.js';
import type { RecordWriterParts } from './record-writer.js';
import { NO_EVENTS } from '../../model/events/event-sink.js';

interface Line {
  readonly level: keyof DriverLogger;
  readonly message: string;
  readonly context: Readonly<Record<string, unknown>> | undefined;
}

/** A broker with the topics of a binding, and the dependencies of its publishers. */
export class PublishingTestBed {
  readonly runtime = new VirtualRuntime();
  readonly broker = new MemoryBroker({ runtime: this.runtime });
  readonly driver: BrokerDriver = memory({ broker: this.broker, clientId: 'bus' });
  readonly lines: Line[] = [];
  readonly logger: DriverLogger = {
    debug: (message, context) => void this.lines.push({ level: 'debug', message, context }),
    info: (message, context) => void this.lines.push({ level: 'info', message, context }),
    warn: (message, context) => void this.lines.push({ level: 'warn', message, context }),
    error: (message, context) => void this.lines.push({ level: 'error', message, context }),
  };
  readonly publishProblems = this.tracker();

  tracker(publishTimeoutMs = 30_000): PublishProblemTracker {
    const { runtime, logger } = this;
    const problems = new OngoingProblems(runtime, logger);
    return new PublishProblemTracker({
      binding: 'orders',
      publishTimeoutMs,
      problems,
      events: NO_EVENTS,
      runtime,
      logger,
    });
  }

  parts(dlt: Partial<ResolvedDlt> = {}, given: Partial<RecordWriterParts> = {}): RecordWriterParts {
    const producer = this.driver.producer();
    const { runtime, logger, publishProblems } = this;
    const all = {
      topic: 'orders.events.DLT',
      headerProfile: ['eventbus'],
      publishTimeoutMs: 30_000,
      ...dlt,
    } as ResolvedDlt;
    const binding = { name: 'orders', dlt: all };
    return {
      binding,
      producer: () => producer,
      publishProblems,
      runtime,
      logger,
      ...given,
    };
  }

  topic(name: string, maxMessageBytes?: number, partitions = 1): Promise<void> {
    const config =
      maxMessageBytes === undefined ? undefined : { 'max.message.bytes': String(maxMessageBytes) };
    const created = this.driver.admin().createTopics([{ name, partitions, config }]);
    return this.done(created.then(() => undefined));
  }

  /** Records of the topic, partition by partition. */
  records(topic: string): Promise<readonly BrokerRecord[]> {
    return this.done(this.#read(topic));
  }

  /** Advances the time only until the work is done. */
  async done<T>(work: Promise<T>): Promise<T> {
    const seen = { isDone: false };
    const watch = work.finally(() => (seen.isDone = true));
    watch.catch(() => undefined);
    for (let tries = 0; tries < 10_000 && !seen.isDone; tries++) await this.runtime.advance(10);
    return watch;
  }

  /** Returns the error with which the work rejects. */
  async failureOf(work: Promise<unknown>): Promise<Error> {
    const failure = await this.done(
      work.then(
        () => undefined,
        (error: Error) => error,
      ),
    );
    if (!failure) throw new Error('It did not reject.');
    return failure;
  }

  end(): Promise<void> {
    return this.done(this.driver.close());
  }

  async #read(topic: string): Promise<readonly BrokerRecord[]> {
    const admin = this.driver.admin();
    const found: BrokerRecord[] = [];
    for (const { partition, low, high } of await admin.watermarks(topic))
      for await (const record of admin.readRange(topic, partition, low, high)) found.push(record);
    return found;
  }
}
