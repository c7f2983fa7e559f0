import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { Deferred, realRuntime } from '@nest-event-bus/broker/runtime';
import { EventBusConnector, LagService, type BindingLag } from '@nest-event-bus/core';
import type { INestApplicationContext } from '@nestjs/common';
import { describeWithJava, describeWithKafka } from '../../support/index.js';
import { describeGroupWithTool } from '../support/group-tool.js';
import { OrdersTestBus } from '../support/orders-test-bus.js';

jest.setTimeout(600_000);

const PATIENCE_MS = 180_000;
const NO_TIERS = { retry: { tiers: [] } };
/** Tests poll themselves, so that they know when. */
const SELDOM = { lag: { intervalMs: 3_600_000 } };

describeWithJava('The lag of a binding', () =>
  describeWithKafka('on a real broker', (kafka) => {
    let orders: OrdersTestBus;
    let application: INestApplicationContext;

    beforeEach(() => {
      orders = new OrdersTestBus(kafka.brokers);
      orders.handle = () => undefined;
    });

    afterEach(() => orders.end(), 120_000);

    const start = async (properties: object = {}): Promise<void> => {
      application = await orders.start({ ...NO_TIERS, ...properties }, SELDOM);
    };

    async function lagNow(): Promise<BindingLag> {
      const service = application.get(LagService);
      await service.refresh();
      const lag = service.of('orders');
      if (!lag || lag.error !== undefined) throw new Error(lag?.error ?? 'no lag');
      return lag;
    }

    async function partitionsByTool() {
      const rows = await describeGroupWithTool(kafka.brokers, orders.groupId);
      return rows
        .map(({ partition, committed, end, lag }) => ({ partition, committed, end, lag }))
        .toSorted((one, other) => one.partition - other.partition);
    }

    /** Expects our figures to be those of Kafka's tool, and returns the sum. */
    async function expectAgreement(total: number): Promise<void> {
      await orders.until(
        `a lag of ${total}`,
        async () => (await lagNow()).records === total,
        PATIENCE_MS,
      );
      const { main } = await lagNow();
      const ours = main.partitions.map(({ partition, committed, high, records }) => ({
        partition,
        committed,
        end: high,
        lag: records,
      }));
      expect(ours).toEqual(await partitionsByTool());
    }

    const connector = () => application.get(EventBusConnector);

    it("is that of Kafka's group tool while records wait, while it is paused, resumed and stopped", async () => {
      await orders.createTopics({ partitions: 2 });
      const gate = new Deferred();
      orders.handle = () => gate.promise;
      await start({ maxPollRecords: 1 });
      await orders.writeTo(0, '1', '2', '3');
      await orders.writeTo(1, '4', '5');
      // An offset is committed before the handlers block, so that the tool shows each partition.
      gate.resolve();
      await expectAgreement(0);
      await connector().pause('orders');
      await orders.writeTo(0, '6', '7', '8', '9');
      await expectAgreement(4);
      expect((await lagNow()).status).toBe('PAUSED');
      await connector().resume('orders');
      await expectAgreement(0);
      await connector().stop('orders');
      await orders.writeTo(1, '10', '11');
      await expectAgreement(2);
      expect((await lagNow()).status).toBe('STOPPED');
    });

    it("is that of Kafka's group tool after a rebalance, in every process", async () => {
      await orders.createTopics({ partitions: 2 });
      await start();
      await orders.writeTo(0, '1', '2');
      await orders.writeTo(1, '3');
      await expectAgreement(0);
      const first = application;
      await start();
      await orders.until(
        'two members',
        async () => (await orders.members()).length === 2,
        PATIENCE_MS,
      );
      await orders.writeTo(0, '4');
      await expectAgreement(0);
      application = first;
      await expectAgreement(0);
    });

    it("is that of Kafka's group tool with transactions, committed and aborted", async () => {
      await orders.createTopics();
      await start();
      const driver = kafkajs({ brokers: kafka.brokers });
      try {
        const producer = driver.producer({ transactionalId: kafka.unique('lag') });
        for (const ends of ['commit', 'abort', 'commit'] as const) {
          const transaction = await producer.transaction();
          await transaction.send([{ topic: orders.topic, partition: 0, value: '1' }]);
          await transaction[ends]();
        }
        await expectAgreement(0);
      } finally {
        await driver.close();
      }
    });

    it('counts no record that the retention has deleted, although the tool does', async () => {
      await orders.createTopics();
      await start();
      await orders.write('1', '2');
      await expectAgreement(0);
      await connector().stop('orders');
      await orders.write('3', '4', '5');
      await orders.admin.deleteRecords(orders.topic, [{ partition: 0, offset: 5 }]);
      const lag = await lagNow();
      expect(lag).toMatchObject({ records: 0, seconds: 0, status: 'OK' });
      expect(await partitionsByTool()).toMatchObject([{ committed: 2, end: 5, lag: 3 }]);
    });

    it('is an upper bound in a compacted topic, as in kafka-consumer-groups.sh', async () => {
      await orders.createTopics({ config: { 'cleanup.policy': 'compact' } });
      await start();
      await orders.writeKeysTo(0, ['a', 'b', 'a']);
      await expectAgreement(0);
      await connector().stop('orders');
      await orders.writeKeysTo(0, ['a', 'a', 'a']);
      await expectAgreement(3);
    });

    it('counts all records of a topic that was deleted and created again', async () => {
      await orders.createTopics();
      await start();
      await orders.write('1', '2', '3');
      await expectAgreement(0);
      await connector().stop('orders');
      await orders.admin.deleteTopics([orders.topic]);
      await orders.admin.createTopics([{ name: orders.topic, partitions: 1 }]);
      const driver = kafkajs({ brokers: kafka.brokers });
      try {
        const values = ['1', '2', '3', '4', '5'];
        const records = values.map((value) => ({ topic: orders.topic, partition: 0, value }));
        await driver.producer().send(records);
      } finally {
        await driver.close();
      }
      await orders.until('a lag of 5', async () => (await lagNow()).records === 5, PATIENCE_MS);
    });

    /** Age of the first unfinished record, by what the test has noted. */
    function expectAge(writtenAt: number, toleranceMs: number): void {
      const service = application.get(LagService);
      const before = realRuntime.now();
      const seconds = service.of('orders')?.seconds ?? NaN;
      const after = realRuntime.now();
      expect(seconds * 1_000).toBeGreaterThanOrEqual(before - writtenAt - toleranceMs);
      expect(seconds * 1_000).toBeLessThanOrEqual(after - writtenAt + toleranceMs);
    }

    it.each([1, 1_000])(
      'has the seconds of the record that a handler holds, with writes of %i records',
      async (size) => {
        await orders.createTopics();
        const gate = new Deferred();
        const held = new Deferred<number>();
        orders.handle = ({ offset, timestamp }) => {
          if (offset !== 3n) return undefined;
          held.resolve(timestamp);
          return gate.promise;
        };
        await start();
        const values = Array.from({ length: size }, () => '1');
        for (let batch = 0; batch < 8; batch++) {
          await orders.write(...values);
          await lagNow();
        }
        const writtenAt = await held.promise;
        await lagNow();
        expectAge(writtenAt, 1_000);
        gate.resolve();
      },
    );

    it.each([1, 1_000])(
      'interpolates the seconds of a stopped binding, with writes of %i records',
      async (size) => {
        await orders.createTopics();
        await start();
        await orders.write('1');
        await expectAgreement(0);
        await connector().stop('orders');
        const from = realRuntime.now();
        await lagNow();
        const began = realRuntime.now();
        const values = Array.from({ length: size }, () => '1');
        await orders.write(...values);
        const written = realRuntime.now();
        await lagNow();
        const polled = realRuntime.now();
        for (let batch = 0; batch < 5; batch++) {
          await orders.write(...values);
          await lagNow();
        }
        // The record was written between both times. A slow machine makes the polls rarer.
        const gap = polled - from;
        expectAge((began + written) / 2, Math.max(1_000, gap));
      },
    );
  }),
);
