import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { describeWithKafka } from '../../support/index.js';
import { Child } from '../support/children/child-process.js';

const root = join(__dirname, '../../../..');
/** A folder from which the packages can be resolved, and which no other tool reads. */
const folder = join(root, 'node_modules/.cache/nest-event-bus');
const BROKERS_LINE = "brokers: process.env['KAFKA_BROKERS'] ?? 'localhost:9092',";

async function smallestApplication(): Promise<string> {
  const page = await readFile(join(root, 'README.md'), 'utf8');
  const [, code = ''] = /^## The smallest application\n.*?^```ts\n(.*?)^```/ms.exec(page) ?? [];
  return code;
}

const children: { readonly child: Child; readonly file: string }[] = [];

async function run(name: string, code: string, env: Record<string, string> = {}): Promise<Child> {
  await mkdir(folder, { recursive: true });
  const file = join(folder, `${name}-${process.pid}.ts`);
  await writeFile(file, code);
  const child = new Child(file, { env });
  children.push({ child, file });
  return child;
}

afterEach(async () => {
  for (const { child, file } of children.splice(0)) {
    child.kill();
    await rm(file, { force: true });
  }
});

async function expectToHandleAndToEnd(child: Child): Promise<void> {
  await child.hasPrinted('order 1 came as 0/0');
  await child.hasPrinted('order 2 came as 0/1');
  child.terminate();
  await child.ended;
  expect(child.stderr).toBe('');
}

describe('The smallest application of the README', () => {
  it('is one file of less than 30 lines', async () => {
    const lines = (await smallestApplication()).trimEnd().split('\n');
    expect(lines.length).toBeGreaterThan(10);
    expect(lines.length).toBeLessThan(30);
  });

  it('runs on the memory driver if only its line `brokers` is changed', async () => {
    const code = await smallestApplication();
    expect(code).toContain(BROKERS_LINE);
    const before = `
      import { memory } from '@nest-event-bus/broker/memory';
      const driver = memory();
      await driver.admin().createTopics([{ name: 'orders.events', partitions: 1 }]);
      const record = { topic: 'orders.events', partition: 0 };
      await driver.producer().send([1, 2].map((id) => ({ ...record, value: JSON.stringify({ id }) })));
    `;
    const child = await run('smallest-memory', before + code.replace(BROKERS_LINE, 'driver,'));
    await expectToHandleAndToEnd(child);
  }, 180_000);
});

describeWithKafka('The smallest application of the README on a real Kafka', (kafka) => {
  it('runs without a change except for the names of its topic and group', async () => {
    const topic = kafka.unique('orders.events');
    const groupId = kafka.unique('order-service');
    const driver = kafkajs({ brokers: kafka.brokers });
    try {
      await driver.admin().createTopics([{ name: topic, partitions: 1 }]);
      const records = [1, 2].map((id) => ({ topic, partition: 0, value: JSON.stringify({ id }) }));
      await driver.producer().send(records);
      const code = (await smallestApplication())
        .replace("'orders.events'", `'${topic}'`)
        .replace("'order-service'", `'${groupId}'`);
      const child = await run('smallest-kafka', code, { KAFKA_BROKERS: kafka.brokers.join() });
      await expectToHandleAndToEnd(child);
      const [committed] = await driver.admin().groupOffsets(groupId);
      expect(committed).toMatchObject({ topic, offset: 2 });
    } finally {
      await driver.close();
    }
  }, 180_000);
});
