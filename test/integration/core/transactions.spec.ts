import { join } from 'node:path';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { eventually, unique } from '@nest-event-bus/testing';
import { SeededRandom } from '../../chaos/broker/support/seeded-random.js';
import { describeWithKafka } from '../support/index.js';
import { Child } from './children/child-process.js';

const PROGRAM = join(__dirname, 'children/transactional-orders.ts');
const PARTITIONS = 3;
const PREFIXES = ['one-', 'two-'] as const;
const PER_KILL = 900;
const KILLS = 6;
/** CHAOS_SEED repeats a run. */
const seed = Number(process.env['CHAOS_SEED'] ?? Math.floor(realRuntime.random() * 2 ** 31));

describeWithKafka(`transactions of processes that are killed, seed ${seed}`, ({ brokers }) => {
  const driver = kafkajs({ brokers });
  const admin = driver.admin();
  const producer = driver.producer();
  const random = new SeededRandom(seed);
  const topics = { topic: unique('orders'), confirmations: unique('confirmations') };
  const groupId = unique('shop');
  const children: Child[] = [];

  const start = (idPrefix: string): Child => {
    const settings = JSON.stringify({ brokers, ...topics, groupId, idPrefix });
    const child = new Child(PROGRAM, { args: [settings] });
    children.push(child);
    return child;
  };

  const write = (from: number): Promise<unknown> =>
    producer.send(
      Array.from({ length: PER_KILL }, (_, index) => ({
        topic: topics.topic,
        partition: index % PARTITIONS,
        value: String(from + index),
      })),
    );

  const confirmed = async (partition: number): Promise<readonly string[]> => {
    const values: string[] = [];
    const marks = await admin.watermarks(topics.confirmations);
    const { low, high } = marks[partition]!;
    for await (const { value } of admin.readRange(topics.confirmations, partition, low, high))
      values.push(String(value));
    return values;
  };

  const committed = async (): Promise<number> =>
    (await admin.groupOffsets(groupId)).reduce((sum, { offset }) => sum + Math.max(0, offset), 0);

  afterAll(async () => {
    for (const child of children) child.kill();
    await Promise.all(children.map(({ ended }) => ended));
    await driver.close();
  });

  it('give exactly one output for each input, to whoever reads what is committed', async () => {
    await admin.createTopics([
      { name: topics.topic, partitions: PARTITIONS },
      { name: topics.confirmations, partitions: 2 },
    ]);
    const alive = new Map<string, Child>(PREFIXES.map((prefix) => [prefix, start(prefix)]));
    const interrupted: number[] = [];
    for (let kill = 0; kill < KILLS; kill++) {
      await write(kill * PER_KILL);
      const prefix = PREFIXES[kill % PREFIXES.length]!;
      await alive.get(prefix)?.hasSaid('started');
      await sleep(realRuntime, random.between(100, 1_500));
      alive.get(prefix)?.kill();
      await alive.get(prefix)?.ended;
      interrupted.push(await committed());
      alive.set(prefix, start(prefix));
    }
    const all = PER_KILL * KILLS;
    await eventually(async () => (await committed()) === all, {
      description: 'all orders to be committed',
      timeoutMs: 90_000,
      intervalMs: 200,
    });
    // What the last one left open hides what is behind it, until its successor has aborted it.
    for (const partition of [0, 1])
      await eventually(async () => (await confirmed(partition)).length >= all, {
        description: 'all confirmations to be readable',
        timeoutMs: 60_000,
        intervalMs: 200,
      });
    console.log(`transactions: ${KILLS} kills, committed by then: ${interrupted.join(', ')}`);
    // A double would be seen late, too.
    await Promise.all([...alive.values()].map((child) => child.hasSaid('started')));
    await sleep(realRuntime, 1_000);
    const inputs = Array.from({ length: all }, (_, number) => number);
    for (const partition of [0, 1]) {
      const values = (await confirmed(partition)).map(Number);
      expect(values.toSorted((one, other) => one - other)).toEqual(inputs);
    }
    // Kills that met nobody at work would prove nothing.
    expect(interrupted.some((count) => count > 0 && count % PER_KILL !== 0)).toBe(true);
  }, 180_000);
});
