import type { BrokerDriver } from '@nest-event-bus/broker';
import { memory, MemoryBroker } from '@nest-event-bus/broker/memory';
import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import { ControlTopic } from './control-topic.js';

const TOPIC = 'control';

describe('ControlTopic.read()', () => {
  let runtime: VirtualRuntime;
  let driver: BrokerDriver;

  beforeEach(() => {
    runtime = new VirtualRuntime();
    driver = memory({ broker: new MemoryBroker({ runtime }) });
  });

  async function done<T>(work: Promise<T>): Promise<T> {
    work.catch(() => undefined);
    await runtime.advance(1_000);
    return work;
  }

  const write = (value: string): Promise<unknown> =>
    done(driver.producer().send([{ topic: TOPIC, partition: 0, key: 'order/x', value }]));

  /** A topic whose reads fail as often as the test says. */
  async function topicThatFails(): Promise<{ topic: ControlTopic; fail: (times: number) => void }> {
    const admin = driver.admin();
    await done(admin.createTopics([{ name: TOPIC, partitions: 1 }]));
    let left = 0;
    const readRange = admin.readRange.bind(admin);
    admin.readRange = (...range) => {
      if (left-- > 0) throw new Error('not now');
      return readRange(...range);
    };
    const topic = new ControlTopic({
      ...{ topic: TOPIC, creates: false },
      driver: () => ({ ...driver, admin: () => admin }),
      producer: () => driver.producer(),
    });
    return { topic, fail: (times) => void (left = times) };
  }

  it('is still the first one after one that has failed', async () => {
    const { topic, fail } = await topicThatFails();
    await write('{}');
    fail(2);
    for (let read = 0; read < 2; read++)
      await expect(done(topic.read())).rejects.toThrow('not now');
    expect(await done(topic.read())).toMatchObject({ isNew: true });
    expect(await done(topic.read())).toEqual({ isNew: false, entries: [] });
  });

  it('still says that the topic was created again after a read that has failed', async () => {
    const { topic, fail } = await topicThatFails();
    for (const value of ['{}', '{}', '{}']) await write(value);
    await done(topic.read());
    await done(driver.admin().deleteTopics([TOPIC]));
    await done(driver.admin().createTopics([{ name: TOPIC, partitions: 1 }]));
    await write('{}');
    fail(1);
    await expect(done(topic.read())).rejects.toThrow('not now');
    expect(await done(topic.read())).toMatchObject({ isNew: true });
  });
});
