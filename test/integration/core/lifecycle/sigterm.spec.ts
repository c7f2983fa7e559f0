import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { KafkaServer, eventually } from '@nest-event-bus/testing';
import { describeWithJava, describeWithKafka } from '../../support/index.js';

interface PrintedEvent {
  readonly kind: 'started' | 'began' | 'done';
  readonly partition: number;
  readonly offset: string;
}

class Application {
  readonly printed: PrintedEvent[] = [];
  readonly ended: Promise<number | null>;
  readonly #child: ChildProcess;

  constructor(settings: object) {
    const loader = join(__dirname, '../../support/run-typescript.mjs');
    const script = join(__dirname, '../support/children/slow-orders.ts');
    this.#child = spawn(process.execPath, ['--import', loader, script, JSON.stringify(settings)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines = createInterface({ input: this.#child.stdout as NodeJS.ReadableStream });
    lines.on('line', (line) => {
      if (line.startsWith('{')) this.printed.push(JSON.parse(line) as PrintedEvent);
    });
    this.ended = new Promise((resolve) => this.#child.once('exit', (code) => resolve(code)));
  }

  count(kind: PrintedEvent['kind']): number {
    return this.printed.filter((each) => each.kind === kind).length;
  }

  offsets(kind: PrintedEvent['kind']): string[] {
    return this.printed
      .filter((each) => each.kind === kind)
      .map(({ partition, offset }) => `${partition}/${offset}`);
  }

  terminate(): void {
    this.#child.kill('SIGTERM');
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}

const RECORDS = 60;

async function fill(brokers: readonly string[], topic: string): Promise<void> {
  const driver = kafkajs({ brokers });
  try {
    await driver.admin().createTopics([{ name: topic, partitions: 3 }]);
    const records = Array.from({ length: RECORDS }, (_, index) => ({
      topic,
      partition: index % 3,
      value: `{"id":${index}}`,
    }));
    await driver.producer().send(records);
  } finally {
    await driver.close();
  }
}

async function committed(
  brokers: readonly string[],
  groupId: string,
): Promise<ReadonlyMap<number, number>> {
  const driver = kafkajs({ brokers });
  try {
    const offsets = await driver.admin().groupOffsets(groupId);
    return new Map(offsets.map(({ partition, offset }) => [partition, offset]));
  } finally {
    await driver.close();
  }
}

describeWithKafka('An application that receives SIGTERM under load', (kafka) => {
  const applications: Application[] = [];
  const start = (settings: object): Application => {
    const application = new Application({ brokers: kafka.brokers, ...settings });
    applications.push(application);
    return application;
  };
  afterEach(() => {
    for (const application of applications.splice(0)) application.kill();
  });

  it('commits the records that its handlers finish; the next process handles each of the other records once', async () => {
    const place = { topic: kafka.unique('orders'), groupId: kafka.unique('shop') };
    await fill(kafka.brokers, place.topic);

    const first = start({ ...place, handlerMs: 100, drainTimeoutMs: 10_000 });
    await eventually(() => first.count('done') > 6, { timeoutMs: 60_000 });
    first.terminate();
    await first.ended;
    expect(first.offsets('done')).toEqual(expect.arrayContaining(first.offsets('began')));
    expect(first.count('done')).toBeLessThan(RECORDS);
    const total = [...(await committed(kafka.brokers, place.groupId)).values()];
    expect(total.reduce((sum, offset) => sum + offset, 0)).toBe(first.count('done'));

    const second = start({ ...place, handlerMs: 1, drainTimeoutMs: 10_000 });
    const all = (): string[] => [...first.offsets('done'), ...second.offsets('done')];
    await eventually(() => all().length >= RECORDS, { timeoutMs: 60_000 });
    expect(new Set(all()).size).toBe(RECORDS);
    second.terminate();
    await second.ended;
  }, 180_000);

  it('stops waiting for handlers after the drain time, and does not commit their records', async () => {
    const place = { topic: kafka.unique('orders'), groupId: kafka.unique('shop') };
    await fill(kafka.brokers, place.topic);

    const first = start({ ...place, handlerMs: 60_000, drainTimeoutMs: 500 });
    await eventually(() => first.count('began') === 3, { timeoutMs: 60_000 });
    const startedAt = performance.now();
    first.terminate();
    await first.ended;
    expect(performance.now() - startedAt).toBeLessThan(50_000);
    const offsets = [...(await committed(kafka.brokers, place.groupId)).values()];
    expect(offsets.every((offset) => offset <= 0)).toBe(true);

    const second = start({ ...place, handlerMs: 1, drainTimeoutMs: 500 });
    await eventually(() => second.count('done') === RECORDS, { timeoutMs: 60_000 });
    expect(second.offsets('done')).toEqual(expect.arrayContaining(first.offsets('began')));
    second.terminate();
    await second.ended;
  }, 180_000);
});

describeWithJava('An application whose broker is unavailable', () => {
  it('ends after SIGTERM', async () => {
    await using kafka = await KafkaServer.start({ brokers: 1, controllable: true });
    await fill(kafka.brokers, 'orders');
    const application = new Application({
      brokers: kafka.brokers,
      topic: 'orders',
      groupId: 'shop',
      handlerMs: 50,
      drainTimeoutMs: 1_000,
    });
    try {
      await eventually(() => application.count('done') > 3, {
        timeoutMs: 60_000,
      });
      await kafka.kill(0);
      application.terminate();
      await application.ended;
    } finally {
      application.kill();
    }
  }, 180_000);
});
