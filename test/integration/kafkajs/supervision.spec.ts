import { ConnectionError, type BrokerDriver, type BrokerError } from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { realRuntime } from '@nest-event-bus/broker/runtime';
import { eventually, unique, type StartedKafka, type TcpProxy } from '@nest-event-bus/testing';
import { describeWithCluster } from '../support/index.js';
import { WatchedConsumer, type WatchedOptions } from './watched-consumer.js';

const CLOSE_BOUND_MS = 20_000;
const SHORT_SESSION_MS = 1_500;

const upTo = (count: number): number[] => Array.from({ length: count }, (_, number) => number);
const sorted = (numbers: readonly number[]): number[] => numbers.toSorted((a, b) => a - b);
const distinct = (numbers: readonly number[]): number[] => sorted([...new Set(numbers)]);

/** Creates a topic with numbered records, and consumers that are closed at the end of the test. */
class SupervisionTest {
  readonly topic = unique('numbered');
  readonly #driver: BrokerDriver;
  readonly #consumers: WatchedConsumer[] = [];
  #written = 0;

  constructor(readonly kafka: StartedKafka) {
    this.#driver = kafkajs({ brokers: kafka.brokers, requestTimeoutMs: 3_000 });
  }

  get written(): number {
    return this.#written;
  }

  async createTopic(partitions: number): Promise<void> {
    await this.#driver.admin().createTopics([{ name: this.topic, partitions }]);
  }

  /**
   * Writes numbered records. With one partition their order is kept; with several, they are written
   * to each partition in turn.
   */
  async write(count: number, partitions = 1): Promise<void> {
    const producer = this.#driver.producer({ lingerMs: 0 });
    const records = upTo(count).map((index) => ({
      topic: this.topic,
      partition: (this.#written + index) % partitions,
      value: String(this.#written + index),
    }));
    await producer.send(records);
    this.#written += count;
    await producer.close();
  }

  async leaderOf(partition: number): Promise<number> {
    const [topic] = await this.#driver.admin().topics([this.topic]);
    return topic?.partitions.find((each) => each.partition === partition)?.leader ?? -1;
  }

  consumer(options: Partial<WatchedOptions> = {}): WatchedConsumer {
    const brokers = this.kafka.proxiedBrokers;
    const consumer = new WatchedConsumer({
      brokers: brokers.length > 0 ? brokers : this.kafka.brokers,
      groupId: unique('group'),
      topic: this.topic,
      ...options,
    });
    this.#consumers.push(consumer);
    return consumer;
  }

  /** Starts a consumer that has read and committed all records written so far. */
  async reading(options: Partial<WatchedOptions> = {}): Promise<WatchedConsumer> {
    const consumer = this.consumer(options);
    await consumer.start();
    consumer.startReading();
    await this.waitUntilAllRead(consumer);
    await eventually(() => consumer.hasCommitted, { description: 'the commit' });
    return consumer;
  }

  waitUntilAllRead(consumer: WatchedConsumer): Promise<unknown> {
    return eventually(
      () => {
        expect(distinct(consumer.numbers)).toEqual(upTo(this.#written));
        return true;
      },
      { description: 'every record to be read', timeoutMs: 60_000 },
    );
  }

  waitForError(consumer: WatchedConsumer): Promise<BrokerError> {
    return eventually(
      () => {
        const { status } = consumer.session;
        return status.state === 'retrying' && (status.error as BrokerError);
      },
      { description: 'the status to show the error', timeoutMs: 60_000 },
    );
  }

  waitUntilStable(consumer: WatchedConsumer): Promise<unknown> {
    return eventually(() => consumer.state === 'stable', {
      description: 'the status to be stable',
      timeoutMs: 60_000,
    });
  }

  async end(): Promise<void> {
    await Promise.all(this.#consumers.map((consumer) => consumer.close()));
    await this.#driver.close();
  }
}

async function duration(work: Promise<unknown>): Promise<number> {
  const startedAt = realRuntime.monotonic();
  await work;
  return realRuntime.monotonic() - startedAt;
}

describeWithCluster('consumer behind an unreliable network', { proxied: true }, (cluster) => {
  let test: SupervisionTest;
  const proxy = (): TcpProxy => {
    const [first] = cluster().proxies;
    if (!first) throw new Error('The cluster has no proxy.');
    return first;
  };
  const freeze = (): void => {
    proxy().swallow('toServer');
    proxy().swallow('toClient');
  };

  beforeEach(async () => {
    test = new SupervisionTest(cluster());
    await test.createTopic(1);
    await test.write(50);
  });

  afterEach(async () => {
    await proxy().accept();
    proxy().forward();
    await test.end();
  });

  it('reports and replaces broken connections, and delivers each record once and in order', async () => {
    const consumer = await test.reading();
    const atTheStart = consumer.retryErrors.length;
    for (const _ of upTo(3)) {
      const before = consumer.retryErrors.length;
      proxy().cut();
      await test.write(20);
      await eventually(() => consumer.retryErrors.length > before, { description: 'the error' });
      await test.waitUntilAllRead(consumer);
      await test.waitUntilStable(consumer);
    }
    for (const error of consumer.retryErrors.slice(atTheStart))
      expect(error).toBeInstanceOf(ConnectionError);
    expect(consumer.numbers).toEqual(upTo(test.written));
    expect(consumer.events).toEqual(['assigned 1']);
    expect(consumer.pollError).toBeUndefined();
  });

  it('retries while a broker cannot be reached', async () => {
    const consumer = await test.reading();
    await proxy().refuse();
    proxy().cut();
    await test.write(20);
    const error = await test.waitForError(consumer);
    expect(error).toMatchObject({ code: 'CONNECTION', retriable: true });
    await proxy().accept();
    await test.waitUntilAllRead(consumer);
    await test.waitUntilStable(consumer);
    expect(consumer.numbers).toEqual(upTo(test.written));
    expect(consumer.events).toEqual(['assigned 1']);
  });

  it('loses its partitions if the broker is silent longer than the session timeout, and joins again afterwards', async () => {
    const consumer = await test.reading({ sessionTimeoutMs: SHORT_SESSION_MS });
    freeze();
    await test.write(20);
    await eventually(() => consumer.events.includes('lost 1'), { description: 'the loss' });
    const error = await test.waitForError(consumer);
    expect(error).toMatchObject({ retriable: true });
    proxy().forward();
    await test.waitUntilAllRead(consumer);
    await test.waitUntilStable(consumer);
    expect(consumer.repeatedAfterCommit).toEqual([]);
    expect(consumer.events.slice(0, 3)).toEqual(['assigned 1', 'lost 1', 'assigned 1']);
  });

  it('continues at the committed offset after a broker restart', async () => {
    const consumer = await test.reading();
    await cluster().kill(0);
    const error = await test.waitForError(consumer);
    expect(error).toMatchObject({ retriable: true });
    await cluster().restart(0);
    await test.write(20);
    await test.waitUntilAllRead(consumer);
    await test.waitUntilStable(consumer);
    expect(consumer.repeatedAfterCommit).toEqual([]);
    expect(consumer.pollError).toBeUndefined();
  });

  describe('ConsumerSession.start, while no broker can be reached', () => {
    it.each([
      ['refuses connections', () => proxy().refuse()],
      ['accepts connections and stays silent', async () => freeze()],
    ])(
      'retries while the broker %s, and rejects when its signal aborts',
      async (_, breakNetwork) => {
        await breakNetwork();
        const consumer = test.consumer({ requestTimeoutMs: 1_000 });
        const controller = new AbortController();
        const started = consumer.start(controller.signal);
        const rejected = expect(started).rejects.toThrow('enough');
        const error = await test.waitForError(consumer);
        expect(error).toBeInstanceOf(ConnectionError);
        controller.abort(new Error('enough'));
        await rejected;
        expect(consumer.state).toBe('closed');
      },
    );

    it('resolves once a broker can be reached', async () => {
      await proxy().refuse();
      const consumer = test.consumer();
      const started = consumer.start();
      await test.waitForError(consumer);
      await proxy().accept();
      await started;
      consumer.startReading();
      await test.waitUntilAllRead(consumer);
    });
  });

  describe('ConsumerSession.close, which ends within a fixed time', () => {
    it.each([
      ['connections have just broken', async () => proxy().cut()],
      [
        'the broker cannot be reached',
        async () => {
          await proxy().refuse();
          proxy().cut();
        },
      ],
      ['the broker is silent', async () => freeze()],
    ])('resolves when %s', async (_, breakNetwork) => {
      const consumer = await test.reading();
      await breakNetwork();
      expect(await duration(consumer.session.close())).toBeLessThanOrEqual(CLOSE_BOUND_MS);
      expect(consumer.state).toBe('closed');
    });

    it('resolves when a join is pending', async () => {
      const groupId = unique('group');
      const eager = { groupId, assignors: ['sticky'] } as const;
      const holding = await test.reading({
        ...eager,
        onRevoked: async () => {
          await eventually(() => second.state === 'closed', { timeoutMs: 60_000 });
        },
      });
      const second = test.consumer(eager);
      const started = second.start().catch((error: Error) => error);
      await eventually(() => holding.events.includes('revoked 1'), { description: 'the join' });
      expect(await duration(second.session.close())).toBeLessThanOrEqual(CLOSE_BOUND_MS);
      await expect(started).resolves.toMatchObject({ code: 'CLOSED' });
    });

    it('resolves within the session timeout when onRevoked commits and the broker is silent', async () => {
      const failed: Error[] = [];
      const consumer = await test.reading({
        sessionTimeoutMs: SHORT_SESSION_MS,
        onRevoked: (session) =>
          session
            .commit([{ topic: test.topic, partition: 0, offset: 1 }])
            .catch((error: Error) => void failed.push(error)),
      });
      freeze();
      const took = await duration(consumer.session.close());
      expect(took).toBeLessThanOrEqual(SHORT_SESSION_MS + CLOSE_BOUND_MS);
      await eventually(() => failed.length === 1, { description: 'the commit to fail' });
    });

    // This test is the last one, because it kills the broker.
    it('resolves when the broker has been killed', async () => {
      const consumer = await test.reading();
      await cluster().kill(0);
      expect(await duration(consumer.session.close())).toBeLessThanOrEqual(CLOSE_BOUND_MS);
    });
  });
});

describeWithCluster('consumer on a cluster that loses a broker', { brokers: 3 }, (cluster) => {
  it('reads from the new leaders, and loses no record', async () => {
    const test = new SupervisionTest(cluster());
    await test.createTopic(6);
    await test.write(60, 6);
    const consumer = await test.reading();
    await cluster().kill(await test.leaderOf(0));
    await test.write(60, 6);
    await test.waitUntilAllRead(consumer);
    await test.waitUntilStable(consumer);
    expect(consumer.repeatedAfterCommit).toEqual([]);
    expect(consumer.pollError).toBeUndefined();
    await test.end();
  });
});
