import type { BrokerDriver } from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { eventually, unique, type TcpProxy } from '@nest-event-bus/testing';
import { describeWithCluster } from '../support/index.js';
import { ExactlyOnceWorker } from './exactly-once-worker.js';
import { finalizeTransactionVersion, producerEpochOf } from './transaction-version.js';

const PARTITIONS = 3;
const INPUTS = 450;

interface TransactionSeries {
  readonly driver: BrokerDriver;
  readonly topic: string;
  beforeEach?(at: number): Promise<void>;
}

async function valuesOf(driver: BrokerDriver, topic: string): Promise<string[]> {
  const values: string[] = [];
  const admin = driver.admin();
  for (const { partition } of await admin.watermarks(topic))
    for await (const { value } of admin.readRange(topic, partition, 0, Number.MAX_SAFE_INTEGER))
      values.push(String(value));
  await admin.close();
  return values;
}

describeWithCluster('transactions over a faulty network', { proxied: true }, (cluster) => {
  const getProxy = (): TcpProxy => {
    const [proxy] = cluster().proxies;
    if (proxy === undefined) throw new Error('The cluster has no proxy.');
    return proxy;
  };

  /**
   * Breaks connections, also in the middle of a request or with dropped responses, until `isOver`
   * returns true.
   */
  async function disturbNetwork(isOver: () => boolean): Promise<number> {
    let times = 0;
    while (!isOver()) {
      await sleep(realRuntime, 30 + realRuntime.random() * 250);
      const chance = realRuntime.random();
      if (chance < 0.3) getProxy().cut();
      else if (chance < 0.5)
        getProxy().cutAfter(1 + Math.floor(realRuntime.random() * 2_000), 'toServer');
      else {
        getProxy().swallow('toClient');
        await sleep(realRuntime, 5 + realRuntime.random() * 40);
        getProxy().forward();
        getProxy().cut();
      }
      times++;
    }
    getProxy().forward();
    return times;
  }

  /** Returns the producer epochs after each of the transactions. */
  async function epochsAfter(
    { driver, topic, beforeEach }: TransactionSeries,
    ends: readonly ('commit' | 'abort')[],
  ): Promise<unknown[]> {
    const transactionalId = unique('tx');
    const producer = driver.producer({ transactionalId });
    const epochs: unknown[] = [];
    for (const [at, end] of ends.entries()) {
      await beforeEach?.(at);
      const transaction = await producer.transaction();
      await transaction.send([{ topic, value: String(at) }]);
      await transaction[end]();
      epochs.push(await producerEpochOf(cluster().brokers, transactionalId));
    }
    return epochs;
  }

  async function onTopic(work: (driver: BrokerDriver, topic: string) => Promise<void>) {
    const driver = kafkajs({ brokers: cluster().brokers });
    const topic = unique('topic');
    await driver.admin().createTopics([{ name: topic, partitions: 1 }]);
    await work(driver, topic);
    await driver.close();
  }

  /** New clusters use version 2 (KIP-890). An upgraded cluster may not have finalized it. */
  function describeVersion(level: 0 | 2, expected: readonly number[]): void {
    describe(`with transaction.version ${level}`, () => {
      beforeAll(() => finalizeTransactionVersion(cluster().brokers, level));

      it('keep one epoch with version 1, or increase it with each transaction with version 2', () =>
        onTopic(async (driver, topic) => {
          const ends = ['commit', 'abort', 'commit', 'commit'] as const;
          expect(await epochsAfter({ driver, topic }, ends)).toEqual(expected);
          expect(await valuesOf(driver, topic)).toEqual(['0', '2', '3']);
        }));

      it('write exactly one output per input in a read-transform-write loop, even if connections break and transactions are aborted or abandoned', async () => {
        const direct = kafkajs({ brokers: cluster().brokers });
        const [source, target, groupId] = [unique('in'), unique('out'), unique('group')];
        await direct.admin().createTopics([
          { name: source, partitions: PARTITIONS },
          { name: target, partitions: PARTITIONS },
        ]);
        const inputs = Array.from({ length: INPUTS }, (_, at) => `input ${at}`);
        await direct
          .producer()
          .send(inputs.map((value, at) => ({ topic: source, partition: at % PARTITIONS, value })));

        const drivers = [1, 2].map(() => kafkajs({ brokers: cluster().proxiedBrokers }));
        const workers = drivers.map(
          (driver) =>
            new ExactlyOnceWorker({
              driver,
              groupId,
              transactionalId: unique('tx'),
              source,
              target,
            }),
        );
        const running = workers.map((worker) => worker.run());
        let isOver = false;
        const disturbing = disturbNetwork(() => isOver);
        try {
          await eventually(async () => new Set(await valuesOf(direct, target)).size === INPUTS, {
            timeoutMs: 90_000,
            intervalMs: 200,
            description: 'an output for every input',
          });
        } finally {
          isOver = true;
          const times = await disturbing;
          for (const worker of workers) worker.stop();
          await Promise.all(running);
          process.stderr.write(
            `exactly once: ${times} disturbances, ${JSON.stringify(workers.map(({ report }) => report))}\n`,
          );
          await Promise.all(drivers.map((driver) => driver.close()));
        }
        const outputs = await valuesOf(direct, target);
        expect([...outputs].sort()).toEqual([...inputs].sort());
        const committed = await direct.admin().groupOffsets(groupId);
        expect(committed.map(({ offset }) => offset)).toEqual(
          Array.from({ length: PARTITIONS }, () => INPUTS / PARTITIONS),
        );
        await direct.close();
      }, 180_000);
    });
  }

  describeVersion(0, [0, 0, 0, 0]);

  // The change back to version 1 is impossible: brokers refuse transactional ids that they knew in
  // version 2.
  it('use version 2 from the next transaction on, once a new connection reports it', () =>
    onTopic(async (driver, topic) => {
      const upgrade = async (at: number): Promise<void> => {
        if (at !== 1) return;
        await finalizeTransactionVersion(cluster().brokers, 2);
        await driver.producer().send([{ topic, value: 'connected' }]);
      };
      const ends = ['commit', 'commit', 'commit'] as const;
      expect(await epochsAfter({ driver, topic, beforeEach: upgrade }, ends)).toEqual([0, 2, 3]);
      expect(await valuesOf(driver, topic)).toEqual(['0', 'connected', '1', '2']);
    }));

  describeVersion(2, [1, 2, 3, 4]);
});
