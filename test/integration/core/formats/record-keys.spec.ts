import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { describeWithKafka } from '../../support/index.js';
import { OrdersTestBus } from '../support/orders-test-bus.js';

/** Keys that are the same text if they are decoded as UTF-8. */
const KEYS = [0xff, 0xfe, 0xfd, 0xc0].map((byte) => Buffer.from([byte, 0x61]));
const PER_KEY = 20;

describeWithKafka('Binary keys on a real Kafka', ({ brokers }) => {
  it('keep the order of each key, do not wait for other keys, and reach handlers byte for byte', async () => {
    const testBus = new OrdersTestBus(brokers);
    const driver = kafkajs({ brokers });
    const handled: string[] = [];
    const [blocked, ...others] = KEYS.map((key) => key.toString('hex'));
    let unblock!: () => void;
    const untilOthersAreDone = new Promise<void>((resolve) => (unblock = resolve));
    testBus.handle = async ({ key, value }) => {
      if (!Buffer.isBuffer(key)) throw new Error('The key is no Buffer.');
      const name = key.toString('hex');
      if (name === blocked) await untilOthersAreDone;
      handled.push(`${name} ${String(value)}`);
      if (handled.length === others.length * PER_KEY) unblock();
    };
    try {
      await testBus.createTopics();
      await testBus.start({ processing: { by: 'key' }, retry: { tiers: [] } });
      const records = Array.from({ length: PER_KEY }, (_, index) =>
        KEYS.map((key) => ({ topic: testBus.topic, partition: 0, key, value: String(index) })),
      ).flat();
      await driver.producer().send(records);
      await testBus.until('all records', () => handled.length === records.length);
      for (const key of KEYS) {
        const name = key.toString('hex');
        const ofKey = handled.filter((each) => each.startsWith(name));
        expect(ofKey).toEqual(Array.from({ length: PER_KEY }, (_, index) => `${name} ${index}`));
      }
      await testBus.until('the commit', async () => (await testBus.committed()) === records.length);
    } finally {
      await driver.close();
      await testBus.end();
    }
  }, 180_000);

  it('are dead-lettered with their bytes if the binding reads text', async () => {
    const testBus = new OrdersTestBus(brokers);
    const driver = kafkajs({ brokers });
    testBus.handle = () => undefined;
    try {
      await testBus.createTopics({ tiers: 1 });
      await testBus.start({ keyDeserializer: 'text', retry: { tiers: [{ delayMs: 50 }] } });
      const { topic } = testBus;
      await driver.producer().send([...KEYS, 'text'].map((key) => ({ topic, key, value: '1' })));
      await testBus.until('the letters', async () => (await testBus.letters()).length === 4);
      const letters = await testBus.letters();
      const hex = (key: Buffer | null): string => String(key?.toString('hex'));
      expect(new Set(letters.map(({ key }) => hex(key)))).toEqual(new Set(KEYS.map(hex)));
      expect(letters.every(({ deserialization }) => deserialization?.part === 'key')).toBe(true);
      await testBus.until('the call for text', () => testBus.calls.length === 1);
    } finally {
      await driver.close();
      await testBus.end();
    }
  }, 180_000);
});
