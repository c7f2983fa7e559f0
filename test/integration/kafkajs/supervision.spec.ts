import { ConnectionError, type BrokerDriver, type BrokerError } from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { realRuntime } from '@nest-event-bus/broker/runtime';
import { eventually, unique, type StartedKafka, type TcpProxy } from '@nest-event-bus/testing';
import { describeWithCluster } from '../support/index.js';
import { WatchedConsumer, type WatchedOptions } from './watched-consumer.js';

const CLOSE_BOUND_MS = 2_000;
const ABORT_BOUND_MS = 100;
const SHORT_SESSION_MS = 1_500;

const upTo = (count: number): number[] => Array.from({ length: count }, (_, number) => number);
const sorted = (numbers: readonly number[]): number[] => numbers.toSorted((a, b) => a - b);
const distinct = (numbers: readonly number[]): number[] => sorted([...new Set(numbers)]);

/** What a suite needs around its cluster: a topic with numbered records, and consumers that end with the test. */
class Stage {
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

  /** One partition keeps their order; several take turns. */
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

  /** One that has read and committed what was written so far. */
  async reading(options: Partial<WatchedOptions> = {}): Promise<WatchedConsumer> {
    const consumer = this.consumer(options);
    await consumer.start();
    consumer.readOn();
    await this.hasReadAll(consumer);
    await eventually(() => consumer.hasCommitted, { description: 'the commit' });
    return consumer;
  }

  hasReadAll(consumer: WatchedConsumer): Promise<unknown> {
    return eventually(
      () => {
        expect(distinct(consumer.numbers)).toEqual(upTo(this.#written));
        return true;
      },
      { description: 'every record to be read', timeoutMs: 25_000 },
    );
  }

  isTroubled(consumer: WatchedConsumer): Promise<BrokerError> {
    return eventually(
      () => {
        const { status } = consumer.session;
        return status.state === 'retrying' && (status.error as BrokerError);
      },
      { description: 'the status to tell the trouble', timeoutMs: 15_000 },
    );
  }

  isStable(consumer: WatchedConsumer): Promise<unknown> {
    return eventually(() => consumer.state === 'stable', {
      description: 'the status to be stable',
      timeoutMs: 25_000,
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

describeWithCluster('supervision behind a bad network', { proxied: true }, (cluster) => {
  let stage: Stage;
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
    stage = new Stage(cluster());
    await stage.createTopic(1);
    await stage.write(50);
  });

  afterEach(async () => {
    await proxy().accept();
    proxy().forward();
    await stage.end();
  });

  it('connections that break are told, replaced, and cost nothing: each record comes once, in order', async () => {
    const consumer = await stage.reading();
    const atTheStart = consumer.troubles.length;
    for (const _ of upTo(3)) {
      const before = consumer.troubles.length;
      proxy().cut();
      await stage.write(20);
      await eventually(() => consumer.troubles.length > before, { description: 'the trouble' });
      await stage.hasReadAll(consumer);
      await stage.isStable(consumer);
    }
    for (const error of consumer.troubles.slice(atTheStart))
      expect(error).toBeInstanceOf(ConnectionError);
    expect(consumer.numbers).toEqual(upTo(stage.written));
    expect(consumer.events).toEqual(['assigned 1']);
    expect(consumer.brokenBy).toBeUndefined();
  });

  it('a broker that cannot be reached for a while is asked until it can', async () => {
    const consumer = await stage.reading();
    await proxy().refuse();
    proxy().cut();
    await stage.write(20);
    const error = await stage.isTroubled(consumer);
    expect(error).toMatchObject({ code: 'CONNECTION', retriable: true });
    await proxy().accept();
    await stage.hasReadAll(consumer);
    await stage.isStable(consumer);
    expect(consumer.numbers).toEqual(upTo(stage.written));
    expect(consumer.events).toEqual(['assigned 1']);
  });

  it('a broker that is silent for longer than the session takes the partitions away; then reading goes on', async () => {
    const consumer = await stage.reading({ sessionTimeoutMs: SHORT_SESSION_MS });
    freeze();
    await stage.write(20);
    await eventually(() => consumer.events.includes('lost 1'), { description: 'the loss' });
    const error = await stage.isTroubled(consumer);
    expect(error).toMatchObject({ retriable: true });
    proxy().forward();
    await stage.hasReadAll(consumer);
    await stage.isStable(consumer);
    expect(consumer.repeatedInVain).toEqual([]);
    expect(consumer.events.slice(0, 3)).toEqual(['assigned 1', 'lost 1', 'assigned 1']);
  });

  it('a broker that dies and comes back is read on from what was committed', async () => {
    const consumer = await stage.reading();
    await cluster().kill(0);
    const error = await stage.isTroubled(consumer);
    expect(error).toMatchObject({ retriable: true });
    await cluster().restart(0);
    await stage.write(20);
    await stage.hasReadAll(consumer);
    await stage.isStable(consumer);
    expect(consumer.repeatedInVain).toEqual([]);
    expect(consumer.brokenBy).toBeUndefined();
  });

  describe('start, while no broker can be reached,', () => {
    it.each([
      ['refuses connections', () => proxy().refuse()],
      ['accepts connections and says nothing', async () => freeze()],
    ])('keeps trying where the broker %s, and ends with its signal', async (_, break_) => {
      await break_();
      const consumer = stage.consumer({ requestTimeoutMs: 1_000 });
      const given = new AbortController();
      const started = consumer.start(given.signal);
      const rejected = expect(started).rejects.toThrow('enough');
      const error = await stage.isTroubled(consumer);
      expect(error).toBeInstanceOf(ConnectionError);
      given.abort(new Error('enough'));
      expect(await duration(rejected)).toBeLessThanOrEqual(ABORT_BOUND_MS);
      expect(consumer.state).toBe('closed');
    });

    it('succeeds once one can', async () => {
      await proxy().refuse();
      const consumer = stage.consumer();
      const started = consumer.start();
      await stage.isTroubled(consumer);
      await proxy().accept();
      await started;
      consumer.readOn();
      await stage.hasReadAll(consumer);
    });
  });

  describe('close is bounded', () => {
    it.each([
      ['connections have just broken', async () => proxy().cut()],
      [
        'the broker cannot be reached',
        async () => {
          await proxy().refuse();
          proxy().cut();
        },
      ],
      ['the broker says nothing', async () => freeze()],
    ])('when %s', async (_, break_) => {
      const consumer = await stage.reading();
      await break_();
      expect(await duration(consumer.session.close())).toBeLessThanOrEqual(CLOSE_BOUND_MS);
      expect(consumer.state).toBe('closed');
    });

    it('when a join is pending', async () => {
      const groupId = unique('group');
      const eager = { groupId, assignors: ['sticky'] } as const;
      const holding = await stage.reading({
        ...eager,
        onRevoked: async () => {
          await eventually(() => second.state === 'closed', { timeoutMs: 20_000 });
        },
      });
      const second = stage.consumer(eager);
      const started = second.start().catch((error: Error) => error);
      await eventually(() => holding.events.includes('revoked 1'), { description: 'the join' });
      expect(await duration(second.session.close())).toBeLessThanOrEqual(CLOSE_BOUND_MS);
      await expect(started).resolves.toMatchObject({ code: 'CLOSED' });
    });

    it('when onRevoked commits and the broker says nothing: by the session time-out', async () => {
      const failed: Error[] = [];
      const consumer = await stage.reading({
        sessionTimeoutMs: SHORT_SESSION_MS,
        onRevoked: (session) =>
          session
            .commit([{ topic: stage.topic, partition: 0, offset: 1 }])
            .catch((error: Error) => void failed.push(error)),
      });
      freeze();
      const took = await duration(consumer.session.close());
      expect(took).toBeLessThanOrEqual(SHORT_SESSION_MS + CLOSE_BOUND_MS);
      await eventually(() => failed.length === 1, { description: 'the commit to fail' });
    });

    // The last one: nobody needs the broker any more.
    it('when the broker has been killed', async () => {
      const consumer = await stage.reading();
      await cluster().kill(0);
      expect(await duration(consumer.session.close())).toBeLessThanOrEqual(CLOSE_BOUND_MS);
    });
  });
});

describeWithCluster('supervision of a cluster that loses a broker', { brokers: 3 }, (cluster) => {
  it('reading goes on with the new leaders, and nothing is lost', async () => {
    const stage = new Stage(cluster());
    await stage.createTopic(6);
    await stage.write(60, 6);
    const consumer = await stage.reading();
    await cluster().kill(await stage.leaderOf(0));
    await stage.write(60, 6);
    await stage.hasReadAll(consumer);
    await stage.isStable(consumer);
    expect(consumer.repeatedInVain).toEqual([]);
    expect(consumer.brokenBy).toBeUndefined();
    await stage.end();
  });
});
