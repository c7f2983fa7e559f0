import type { BrokerRecord } from '../../../port/record.js';
import type { ConsumerSession } from '../../../port/consumer.js';
import { ProducerFencedError } from '../../../port/errors.js';
import type { ProducerSession } from '../../../port/producer.js';
import { realRuntime, sleep } from '../../../runtime/index.js';
import { memory } from '../../memory-driver.js';

const groupId = 'invoicing';
const listener = {
  onAssigned: () => undefined,
  onRevoked: () => undefined,
  onLost: () => undefined,
};

/**
 * Reads, transforms and writes as the README shows; `meanwhile` runs while records are being
 * handled.
 */
async function transform(
  member: ConsumerSession,
  producer: ProducerSession,
  records: readonly BrokerRecord[],
  meanwhile?: () => Promise<void>,
): Promise<void> {
  const { memberId, generation } = member;
  const transaction = await producer.transaction();
  try {
    await transaction.send(records.map(({ key, value }) => ({ topic: 'invoices', key, value })));
    await meanwhile?.();
    const offsets = records.map(({ topic, partition, offset, leaderEpoch }) => ({
      topic,
      partition,
      offset: offset + 1,
      leaderEpoch,
    }));
    await transaction.sendOffsets({ groupId, memberId, generation, offsets });
    await transaction.commit();
  } catch (error) {
    await transaction.abort();
    if (error instanceof ProducerFencedError) throw error;
    const stored = await member.committed(records);
    for (const { topic, partition, offset } of records.toReversed()) {
      if (member.position({ topic, partition }) === undefined) continue;
      const last = stored.find((each) => each.topic === topic && each.partition === partition);
      member.seek({ topic, partition }, last?.offset ?? offset);
    }
  }
}

it.each(['classic', 'consumer'] as const)(
  'read-transform-write produces one output per input, also when another member joins meanwhile, with the %s protocol',
  async (groupProtocol) => {
    const driver = memory();
    const admin = driver.admin();
    await admin.createTopics([
      { name: 'orders', partitions: 2 },
      { name: 'invoices', partitions: 1 },
    ]);
    const orders = [0, 1].map((partition) => ({
      topic: 'orders',
      partition,
      value: `${partition}`,
    }));
    await driver.producer().send(orders);
    const options = { groupId, topics: ['orders'], groupProtocol, heartbeatIntervalMs: 100 };
    const [one, two] = [driver.consumer(options), driver.consumer(options)];
    const producers = [0, 1].map((index) =>
      driver.producer({ transactionalId: `invoicing-${index}` }),
    ) as [ProducerSession, ProducerSession];
    await one.start(listener);
    const records: BrokerRecord[] = [];
    while (records.length < 2) records.push(...(await one.poll(50)));
    await transform(one, producers[0], records, async () => {
      await two.start(listener);
      while (one.assignment().length !== 1 || two.assignment().length !== 1)
        await sleep(realRuntime, 10);
    });
    const ending = new AbortController();
    const goOn = async (member: ConsumerSession, producer: ProducerSession): Promise<void> => {
      for (;;) {
        const more = await member.poll(50, ending.signal).catch(() => undefined);
        if (!more) return;
        await transform(member, producer, more);
      }
    };
    const going = Promise.all([goOn(one, producers[0]), goOn(two, producers[1])]);
    const read = async (): Promise<readonly string[]> => {
      const values: string[] = [];
      for await (const { value } of admin.readRange('invoices', 0, 0, 100))
        values.push(String(value));
      return values.toSorted();
    };
    while ((await read()).length < 2) await sleep(realRuntime, 10);
    ending.abort();
    await going;
    expect(await read()).toEqual(['0', '1']);
    await driver.close();
  },
  20_000,
);
