import type { BrokerDriver, DriverLogger } from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { Deferred, realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { eventually, unique, type TcpProxy } from '@nest-event-bus/testing';
import type {
  ConsumingSession,
  ConsumingSettings,
} from '../../../../libs/core/src/consuming/session/consuming-session.js';
import { createConsumingSession } from '../../../../libs/core/src/consuming/session/supervised-session.js';
import { BufferLimit } from '../../../../libs/core/src/consuming/lanes/buffer-limit.js';
import type { Delivery } from '../../../../libs/core/src/model/outcomes/delivery.js';
import { type Outcome, succeeded } from '../../../../libs/core/src/model/outcomes/outcome.js';
import { describeWithCluster, describeWithKafka } from '../../support/index.js';

const MEMORY_BYTES = 64 * 1024 * 1024;
const SESSION_MS = 3_000;

const upTo = (count: number, from = 0): number[] =>
  Array.from({ length: count }, (_, index) => from + index);

interface Running {
  readonly session: ConsumingSession;
  /** Offsets of the records that were given to the handler, by partition. */
  readonly offsets: number[][];
  readonly log: string[];
}

/** A topic, a group and the consuming sessions of one test, on a real broker. */
class SessionScenario {
  readonly topic = unique('sessions');
  readonly groupId = unique('group');
  readonly #driver: BrokerDriver;
  readonly #ends: (() => Promise<void>)[] = [];

  constructor(brokers: readonly string[]) {
    this.#driver = kafkajs({ brokers });
  }

  createTopic(partitions: number): Promise<unknown> {
    return this.#driver.admin().createTopics([{ name: this.topic, partitions }]);
  }

  async write(count: number, partition = 0): Promise<void> {
    const producer = this.#driver.producer();
    await producer.send(
      upTo(count).map((index) => ({ topic: this.topic, partition, value: `{"number":${index}}` })),
    );
    await producer.close();
  }

  /** Writes records in a transaction that is aborted. */
  async writeAborted(count: number, partition = 0): Promise<void> {
    const producer = this.#driver.producer({ transactionalId: unique('aborted') });
    const transaction = await producer.transaction();
    await transaction.send(upTo(count).map(() => ({ topic: this.topic, partition, value: 'no' })));
    await transaction.abort();
    await producer.close();
  }

  async lag(partition = 0): Promise<number> {
    const watermarks = await this.#driver.admin().watermarks(this.topic);
    const end = watermarks.find((each) => each.partition === partition)?.high ?? 0;
    return end - ((await this.committed(partition)) ?? 0);
  }

  async start(
    brokers: readonly string[],
    handle: (delivery: Delivery) => Outcome | Promise<Outcome>,
    settings: Partial<ConsumingSettings> = {},
    groupInstanceId?: string,
  ): Promise<Running> {
    const running = this.make(brokers, handle, settings, groupInstanceId);
    await running.session.start();
    return running;
  }

  make(
    brokers: readonly string[],
    handle: (delivery: Delivery) => Outcome | Promise<Outcome>,
    settings: Partial<ConsumingSettings> = {},
    groupInstanceId?: string,
  ): Running {
    const driver = kafkajs({ brokers, requestTimeoutMs: 3_000, connectionTimeoutMs: 1_000 });
    const offsets: number[][] = [];
    const log: string[] = [];
    const session = createConsumingSession({
      containerId: 'eventbus-orders',
      sessionIndex: 0,
      driver,
      consumer: {
        groupId: this.groupId,
        ...(groupInstanceId !== undefined && { groupInstanceId }),
        topics: [this.topic],
        sessionTimeoutMs: SESSION_MS,
        heartbeatIntervalMs: 300,
        rebalanceTimeoutMs: 10_000,
      },
      settings: {
        ackMode: 'MANUAL_IMMEDIATE',
        strictCommits: false,
        isTransactional: false,
        listenerType: 'SINGLE',
        processing: { by: 'partition', maxConcurrency: 64 },
        stuckHandlerMs: 60_000,
        maxPollRecords: 50,
        maxPollIntervalMs: 60_000,
        idleBetweenPollsMs: 0,
        rebalanceDrainTimeoutMs: 5_000,
        failureBackoff: { initialMs: 50, maxMs: 500 },
        ...settings,
      },
      bufferLimit: new BufferLimit(() => MEMORY_BYTES),
      processor: {
        process: (delivery) => {
          const { partition, offset } = delivery.record;
          (offsets[partition] ??= []).push(offset);
          return handle(delivery);
        },
      },
      runtime: realRuntime,
      logger: loggerInto(log),
    });
    this.#ends.push(async () => {
      await session.close();
      await driver.close();
    });
    return { session, offsets, log };
  }

  async committed(partition = 0): Promise<number | undefined> {
    const offsets = await this.#driver.admin().groupOffsets(this.groupId);
    return offsets.find((each) => each.partition === partition)?.offset;
  }

  hasCommitted(offset: number, partition = 0): Promise<unknown> {
    return eventually(async () => (await this.committed(partition)) === offset, {
      description: `offset ${offset} of partition ${partition} to be committed`,
      timeoutMs: 60_000,
      intervalMs: 50,
    });
  }

  async end(): Promise<void> {
    await Promise.allSettled(this.#ends.map((end) => end()));
    await this.#driver.close();
  }
}

function loggerInto(log: string[]): DriverLogger {
  const write = (message: string): void => void log.push(message);
  return { debug: write, info: write, warn: write, error: write };
}

const countAssignments = ({ log }: Running): number =>
  log.filter((message) => message === 'Partitions assigned').length;

describeWithKafka('A consuming session on a real broker', ({ brokers }) => {
  let scenario: SessionScenario;

  beforeEach(() => {
    scenario = new SessionScenario(brokers);
  });

  afterEach(() => scenario.end());

  it('commits a trailing aborted transaction, so that the lag is 0 with nothing left to do', async () => {
    await scenario.createTopic(1);
    await scenario.write(3);
    const running = await scenario.start(brokers, () => succeeded);
    await scenario.hasCommitted(3);
    await scenario.writeAborted(2);
    await scenario.hasCommitted(6);
    expect(await scenario.lag()).toBe(0);
    expect(running.offsets[0]).toEqual([0, 1, 2]);
    await scenario.write(1);
    await scenario.hasCommitted(7);
  });

  it.each(['MANUAL', 'MANUAL_IMMEDIATE'] as const)(
    'delivers each record once and in order, and commits it (%s)',
    async (ackMode) => {
      await scenario.createTopic(3);
      for (const partition of upTo(3)) await scenario.write(20_000, partition);
      const startedAt = realRuntime.monotonic();
      const { session, offsets } = await scenario.start(brokers, () => succeeded, { ackMode });
      await eventually(() => session.counts.succeeded === 60_000, { timeoutMs: 60_000 });
      const seconds = (realRuntime.monotonic() - startedAt) / 1_000;
      process.stderr.write(
        `consuming session, ${ackMode}: 60000 records in ${seconds.toFixed(2)} s\n`,
      );
      for (const partition of upTo(3)) {
        await scenario.hasCommitted(20_000, partition);
        expect(offsets[partition]).toEqual(upTo(20_000));
      }
      expect(session.counts).toMatchObject({ received: 60_000, inFlight: 0 });
    },
  );

  it('delivers no prefetched record and causes no rebalance during a pause longer than the session timeout, and then continues at the same offset', async () => {
    await scenario.createTopic(1);
    await scenario.write(1_000);
    const gate = new Deferred<Outcome>();
    const running = await scenario.start(brokers, ({ record }) =>
      record.offset === 10 ? gate.promise : succeeded,
    );
    await eventually(() => running.offsets[0]?.length === 11);
    await running.session.pause('operator');
    expect(await scenario.committed()).toBe(10);
    gate.resolve(succeeded);
    await scenario.hasCommitted(11);
    await sleep(realRuntime, SESSION_MS * 2.5);
    expect(running.offsets[0]).toEqual(upTo(11));
    expect(running.session.status).toMatchObject({ state: 'joined', pauses: ['operator'] });
    expect(running.session.resume('operator')).toEqual([]);
    await scenario.hasCommitted(1_000);
    expect(running.offsets[0]).toEqual(upTo(1_000));
    expect(countAssignments(running)).toBe(1);
  });

  it('commits running records before a rebalance, so that each record is delivered once', async () => {
    await scenario.createTopic(2);
    for (const partition of [0, 1]) await scenario.write(200, partition);
    const slowly = async (): Promise<Outcome> => {
      await sleep(realRuntime, 10);
      return succeeded;
    };
    const first = await scenario.start(brokers, slowly);
    await eventually(() => (first.offsets[0]?.length ?? 0) > 20);
    const second = await scenario.start(brokers, slowly);
    for (const partition of [0, 1]) await scenario.hasCommitted(200, partition);
    expect(second.offsets.flat().length).toBeGreaterThan(0);
    for (const partition of [0, 1]) {
      const all = [...(first.offsets[partition] ?? []), ...(second.offsets[partition] ?? [])];
      expect(all.toSorted((one, other) => one - other)).toEqual(upTo(200));
    }
  });

  it('stays failed after another process took over its static member id, until an operator starts it again', async () => {
    await scenario.createTopic(1);
    await scenario.write(10);
    const first = await scenario.start(brokers, () => succeeded, {}, 'orders-0');
    await scenario.hasCommitted(10);
    const second = await scenario.start(brokers, () => succeeded, {}, 'orders-0');
    await eventually(() => first.session.status.state === 'failed', { timeoutMs: 60_000 });
    expect(first.session.status).toMatchObject({
      error: { code: 'STATIC_MEMBER_FENCED' },
      assignment: [],
    });
    await scenario.write(10);
    await scenario.hasCommitted(20);
    expect(second.offsets[0]).toEqual(upTo(10, 10));
    expect(first.session.status.state).toBe('failed');
    await first.session.close();
    const third = await scenario.start(brokers, () => succeeded, {}, 'orders-0');
    await eventually(() => second.session.status.state === 'failed', { timeoutMs: 60_000 });
    await scenario.write(10);
    await scenario.hasCommitted(30);
    expect(third.offsets[0]).toEqual(upTo(10, 20));
  });

  it('delivers a failed record again, and waits for running handlers before it leaves the group', async () => {
    await scenario.createTopic(1);
    await scenario.write(30);
    let failures = 0;
    const first = await scenario.start(brokers, async ({ record, history: { redeliveries } }) => {
      await sleep(realRuntime, 20);
      if (record.offset !== 5 || redeliveries === 3) return succeeded;
      failures++;
      return { kind: 'failed', reason: 'redeliver', attempts: 1, error: new Error('not yet') };
    });
    await eventually(() => (first.offsets[0]?.length ?? 0) > 15);
    const report = await first.session.close({ drainMs: 5_000 });
    expect(report).toEqual({ complete: true, abandoned: [] });
    const done = (first.offsets[0] as number[]).at(-1) as number;
    expect(await scenario.committed()).toBe(done + 1);
    await first.session.close();
    const second = await scenario.start(brokers, () => succeeded);
    await scenario.hasCommitted(30);
    expect(failures).toBe(3);
    expect(second.offsets[0]).toEqual(upTo(29 - done, done + 1));
  });
});

describeWithCluster(
  'A consuming session whose broker is unreachable',
  { proxied: true },
  (cluster) => {
    let scenario: SessionScenario;
    const brokers = () => cluster().proxiedBrokers;
    const proxy = (): TcpProxy => cluster().proxies[0] as TcpProxy;

    beforeEach(async () => {
      scenario = new SessionScenario(cluster().brokers);
      await scenario.createTopic(1);
      await scenario.write(100);
    });

    afterEach(async () => {
      await proxy().accept();
      proxy().forward();
      await scenario.end();
    });

    it('waits for the broker at the start and after an outage, and handles each record exactly once', async () => {
      await proxy().refuse();
      const running = scenario.make(brokers(), () => succeeded);
      const started = running.session.start();
      await eventually(() => running.session.status.state === 'retrying');
      await proxy().accept();
      await started;
      await scenario.hasCommitted(100);
      await proxy().refuse();
      proxy().cut();
      await scenario.write(100);
      await eventually(() => running.session.status.state === 'retrying', { timeoutMs: 60_000 });
      await proxy().accept();
      await scenario.hasCommitted(200);
      expect(running.offsets[0]).toEqual(upTo(200));
      await eventually(() => running.session.status.state === 'joined', { timeoutMs: 60_000 });
    });

    it('delivers only the record in flight again if the connection is silent for longer than the session timeout', async () => {
      const gate = new Deferred<Outcome>();
      const aborted: number[] = [];
      const running = await scenario.start(brokers(), ({ record, signal }) => {
        if (record.offset !== 50 || aborted.length > 0) return succeeded;
        signal.addEventListener('abort', () => aborted.push(record.offset));
        return gate.promise;
      });
      await eventually(() => running.offsets[0]?.length === 51);
      await scenario.hasCommitted(50);
      proxy().swallow('toServer');
      proxy().swallow('toClient');
      await eventually(() => aborted.length === 1, { timeoutMs: 60_000 });
      gate.resolve(succeeded);
      await sleep(realRuntime, 100);
      expect(await scenario.committed()).toBe(50);
      proxy().forward();
      proxy().cut();
      await scenario.hasCommitted(100);
      expect(running.offsets[0]).toEqual([...upTo(51), ...upTo(50, 50)]);
      expect(running.session.counts).toMatchObject({ succeeded: 101, inFlight: 0 });
    });

    it('can be paused, drained and closed although the broker never returns', async () => {
      const running = await scenario.start(brokers(), ({ record }) =>
        record.offset === 99 ? new Promise<Outcome>(() => undefined) : succeeded,
      );
      await eventually(() => running.offsets[0]?.length === 100);
      proxy().swallow('toServer');
      proxy().swallow('toClient');
      await running.session.pause('operator');
      const report = await running.session.close({ drainMs: 500 });
      await running.session.close();
      expect(report).toMatchObject({ complete: false, abandoned: [{ partition: 0, offset: 99 }] });
    });
  },
);
