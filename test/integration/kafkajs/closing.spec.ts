import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { realRuntime, within } from '@nest-event-bus/broker/runtime';
import { describeWithKafka } from '../support/index.js';

/**
 * Much shorter than the shortest timeout that could keep the process alive: 5 s, of a connection
 * attempt.
 */
const ENDS_WITHIN_MS = 2_500;
const LOADER = join(__dirname, '../support/run-typescript.mjs');
const PROGRAM = join(__dirname, 'children/close-in-bad-moment.ts');

describeWithKafka('A process whose driver was closed', (kafka) => {
  const topic = kafka.unique('closing');
  const children: ChildProcess[] = [];

  beforeAll(async () => {
    const driver = kafkajs({ brokers: kafka.brokers });
    await driver.admin().createTopics([{ name: topic, partitions: 3 }]);
    await driver.close();
  });

  afterEach(() => {
    for (const child of children.splice(0)) child.kill();
  });

  /**
   * Waits until the child has closed its driver, and returns its exit code. From then on, the time
   * for the exit is limited.
   */
  async function endOf(order: object): Promise<number | null> {
    const child = spawn(process.execPath, ['--import', LOADER, PROGRAM, JSON.stringify(order)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    children.push(child);
    const ended = once(child, 'exit');
    await Promise.race([once(child.stdout, 'data'), ended]);
    const tooLate = (): Error => new Error(`still alive ${ENDS_WITHIN_MS} ms after the close`);
    const [code] = (await within(realRuntime, ENDS_WITHIN_MS, ended, tooLate)) as [number | null];
    return code;
  }

  it.each([
    { moment: 'honest', afterMs: 0 },
    { moment: 'honest', afterMs: 30 },
    { moment: 'honest', afterMs: 400 },
    { moment: 'swallowed', afterMs: 0 },
    { moment: 'swallowed', afterMs: 100 },
    { moment: 'crowd', afterMs: 0 },
    { moment: 'crowd', afterMs: 20 },
  ])(
    'exits without further calls: $moment network, closed after $afterMs ms',
    async ({ moment, afterMs }) => {
      const order = { brokers: kafka.brokers, topic, moment, afterMs };
      await expect(endOf(order)).resolves.toBe(0);
    },
  );
});
