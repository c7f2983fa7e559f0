import type {
  BrokerDriver,
  BrokerRecord,
  CommittedOffset,
  ConsumerOptions,
  ConsumerSession,
  DriverLogger,
  OutgoingRecord,
  TopicPartition,
} from '@nest-event-bus/broker';
import { memory, MemoryBroker, type MemoryBrokerOptions } from '@nest-event-bus/broker/memory';
import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import type { Delivery } from '../../model/outcomes/delivery.js';
import type { OnTopicRecreated } from '../../model/states/on-topic-recreated.js';
import { type Outcome, type RecordProcessor, succeeded } from '../../model/outcomes/outcome.js';
import type {
  RecordCounts,
  ConsumingSession,
  ConsumingSettings,
  PartitionObserver,
} from './consuming-session.js';
import { createConsumingSession } from './supervised-session.js';
import { BufferLimit } from '../lanes/buffer-limit.js';
import type { LingeringHandlers } from './lingering-handlers.js';

export const TOPIC = 't';
export const GROUP = 'g';

export type Handle = (delivery: Delivery) => Outcome | Promise<Outcome>;

export interface SessionUnderTest {
  readonly session: ConsumingSession;
  readonly driver: BrokerDriver;
  /** Records that reached the handler, in order. */
  readonly handled: BrokerRecord[];
  /** Lines of the log. */
  readonly log: readonly LogLine[];
  offsets(partition?: number): number[];
}

export interface LogLine {
  readonly level: keyof DriverLogger;
  readonly message: string;
  readonly context: Readonly<Record<string, unknown>>;
}

export interface SessionUnderTestOptions {
  readonly settings?: Partial<ConsumingSettings>;
  readonly consumer?: Partial<ConsumerOptions>;
  readonly processor?: RecordProcessor;
  readonly clientId?: string;
  readonly driver?: BrokerDriver;
  readonly lingering?: LingeringHandlers;
  readonly bufferLimit?: BufferLimit;
  readonly onTopicRecreated?: OnTopicRecreated;
  readonly partitions?: PartitionObserver;
  /** Called when the broker has stored a commit. */
  readonly onCommit?: (offset: number) => void;
}

export interface Seen<T> {
  result?: T;
  error?: unknown;
  ended: boolean;
}

/** Observes whether a promise has settled, and with which result, without awaiting it. */
export function watched<T>(promise: Promise<T>): Seen<T> {
  const seen: Seen<T> = { ended: false };
  promise.then(
    (result) => Object.assign(seen, { result, ended: true }),
    (error: unknown) => Object.assign(seen, { error, ended: true }),
  );
  return seen;
}

/** A cluster with one topic, and members of one group, in virtual time. */
export class ConsumingTestBed {
  readonly runtime: VirtualRuntime;
  readonly broker: MemoryBroker;
  readonly #driver: BrokerDriver;
  readonly #started: SessionUnderTest[] = [];

  constructor({ seed = 1, ...options }: MemoryBrokerOptions & { readonly seed?: number } = {}) {
    this.runtime = new VirtualRuntime({ seed });
    this.broker = new MemoryBroker({ runtime: this.runtime, ...options });
    this.#driver = memory({ broker: this.broker, clientId: 'test-bed' });
  }

  static async of(partitions = 1, options?: MemoryBrokerOptions & { readonly seed?: number }) {
    const testBed = new ConsumingTestBed(options);
    await testBed.done(testBed.#driver.admin().createTopics([{ name: TOPIC, partitions }]));
    return testBed;
  }

  session(
    handle: Handle = () => succeeded,
    options: SessionUnderTestOptions = {},
  ): SessionUnderTest {
    const { settings, consumer, clientId } = options;
    const driver = reportingCommits(
      options.driver ?? memory({ broker: this.broker, clientId }),
      options.onCommit,
    );
    const handled: BrokerRecord[] = [];
    const log: LogLine[] = [];
    const process: Handle = (delivery) => {
      handled.push(delivery.record);
      return handle(delivery);
    };
    const session = createConsumingSession({
      containerId: 'eventbus-orders',
      sessionIndex: 0,
      driver,
      consumer: {
        groupId: GROUP,
        topics: [TOPIC],
        assignors: ['sticky', 'range'],
        sessionTimeoutMs: 6_000,
        heartbeatIntervalMs: 1_000,
        rebalanceTimeoutMs: 30_000,
        ...consumer,
      },
      settings: {
        ackMode: 'MANUAL_IMMEDIATE',
        strictCommits: false,
        isTransactional: false,
        listenerType: 'SINGLE',
        processing: { by: 'partition', maxConcurrency: 4 },
        stuckHandlerMs: 60_000,
        maxPollRecords: 5,
        maxPollIntervalMs: 60_000,
        idleBetweenPollsMs: 0,
        rebalanceDrainTimeoutMs: 10_000,
        failureBackoff: { initialMs: 1_000, maxMs: 10_000 },
        ...settings,
      },
      processor: options.processor ?? { process },
      lingering: options.lingering,
      bufferLimit: options.bufferLimit ?? new BufferLimit(() => Infinity),
      ...(options.partitions && { partitions: options.partitions }),
      onTopicRecreated: options.onTopicRecreated,
      runtime: this.runtime,
      logger: recordingLogger(log),
    });
    const offsets = (partition = 0): number[] =>
      handled.filter((record) => record.partition === partition).map(({ offset }) => offset);
    const underTest = { session, driver, handled, log, offsets };
    this.#started.push(underTest);
    return underTest;
  }

  /** Starts a session that has joined. */
  async started(handle?: Handle, options?: SessionUnderTestOptions): Promise<SessionUnderTest> {
    const underTest = this.session(handle, options);
    await this.done(underTest.session.start());
    return underTest;
  }

  /** Deletes the topic and creates it again, empty, after this time. */
  async recreate(partitions = 1, afterMs = 0): Promise<void> {
    const admin = this.#driver.admin();
    await this.done(admin.deleteTopics([TOPIC]));
    await this.runtime.advance(afterMs);
    await this.done(admin.createTopics([{ name: TOPIC, partitions }]));
  }

  /** Adds partitions to the topic. */
  async growTo(partitions: number): Promise<void> {
    await this.done(this.#driver.admin().createPartitions(TOPIC, partitions));
  }

  write(count: number, partition = 0): Promise<void> {
    return this.writeKeys(
      Array.from({ length: count }, () => null),
      partition,
    );
  }

  /** Writes a record for each key. */
  writeKeys(keys: readonly (string | null)[], partition = 0): Promise<void> {
    return this.#write(
      keys.map((key, index) => ({ topic: TOPIC, partition, key, value: `secret ${index}` })),
    );
  }

  /** Writes records of this size. Each record has its own key. */
  writeLarge(count: number, bytes: number, partition = 0): Promise<void> {
    const value = Buffer.alloc(bytes);
    return this.#write(
      upTo(count).map((index) => ({ topic: TOPIC, partition, key: `${index}`, value })),
    );
  }

  async #write(records: readonly OutgoingRecord[]): Promise<void> {
    const driver = memory({ broker: this.broker, clientId: 'writer' });
    await this.done(driver.producer({ lingerMs: 0 }).send(records));
    await this.done(driver.close());
  }

  /** Committed offset of a partition. */
  async committed(partition = 0): Promise<number | undefined> {
    return (await this.commitOf(partition))?.offset;
  }

  /** Committed offset with its metadata. */
  async commitOf(partition = 0): Promise<CommittedOffset | undefined> {
    const offsets = await this.done(this.#driver.admin().groupOffsets(GROUP));
    return offsets.find((each) => each.partition === partition);
  }

  async untilCommitted(offset: number, partition = 0): Promise<void> {
    let known: number | undefined;
    for (let tries = 0; tries < 200 && known !== offset; tries++) {
      known = await this.committed(partition);
      if (known !== offset) await this.runtime.advance(50);
    }
    if (known !== offset) throw new Error(`Committed is ${known}, not ${offset}.`);
  }

  /** Advances the time until the promise has settled. */
  async done<T>(promise: Promise<T>): Promise<T> {
    const seen = watched(promise);
    await this.until(() => seen.ended);
    if ('error' in seen) throw seen.error;
    return seen.result as T;
  }

  /** Advances the time until the condition holds, and fails after ten virtual minutes. */
  async until(condition: () => boolean): Promise<void> {
    const deadline = this.runtime.monotonic() + 600_000;
    await this.runtime.settle();
    while (!condition()) {
      if (this.runtime.monotonic() > deadline) throw new Error('Ten virtual minutes were over.');
      await this.runtime.advance(10);
    }
  }

  /** Closes all sessions that were started. */
  async end(): Promise<void> {
    for (const { session } of this.#started) await this.done(session.close());
  }
}

export function reconciles(counts: RecordCounts): boolean {
  const { received, succeeded: done, discarded, failed, handedBack, inFlight } = counts;
  return received === done + discarded + failed + handedBack + inFlight;
}

export function upTo(count: number, from = 0): number[] {
  return Array.from({ length: count }, (_, index) => from + index);
}

export const partitionOf = ({ topic, partition }: TopicPartition): string =>
  `${topic}-${partition}`;

export function recordingLogger(log: LogLine[]): DriverLogger {
  const write =
    (level: LogLine['level']) =>
    (message: string, context: LogLine['context'] = {}): void =>
      void log.push({ level, message, context });
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  };
}

/** Wraps the driver, so that its sessions report stored commits. */
function reportingCommits(driver: BrokerDriver, onCommit?: (offset: number) => void): BrokerDriver {
  if (!onCommit) return driver;
  const consumer: BrokerDriver['consumer'] = (options) => {
    const session = driver.consumer(options);
    const commit: ConsumerSession['commit'] = async (offsets) => {
      await session.commit(offsets);
      for (const { offset } of offsets) onCommit(offset);
    };
    return new Proxy(session, {
      get: (target, key) => {
        if (key === 'commit') return commit;
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
  };
  return Object.assign(Object.create(driver) as BrokerDriver, { consumer });
}
