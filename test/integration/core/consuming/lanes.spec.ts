import { join } from 'node:path';
import type { BrokerDriver, CommittedOffset, DriverLogger } from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { Deferred, realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { eventually, unique } from '@nest-event-bus/testing';
import { decodeMetadata } from '../../../../libs/core/src/consuming/commits/commit-metadata-format.js';
import type {
  ConsumingSession,
  ConsumingSettings,
} from '../../../../libs/core/src/consuming/session/consuming-session.js';
import { createConsumingSession } from '../../../../libs/core/src/consuming/session/supervised-session.js';
import { BufferLimit } from '../../../../libs/core/src/consuming/lanes/buffer-limit.js';
import {
  type RecordProcessor,
  succeeded,
} from '../../../../libs/core/src/model/outcomes/outcome.js';
import { describeWithKafka } from '../../support/index.js';
import { Child } from '../support/children/child-process.js';

const MEMORY_BYTES = 2_000_000;

const silent: DriverLogger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

describeWithKafka('Lanes on a real broker', ({ brokers }) => {
  let topic: string;
  let groupId: string;
  let driver: BrokerDriver;
  let intake: ConsumingSession | undefined;

  beforeEach(async () => {
    [topic, groupId, intake] = [unique('lanes'), unique('group'), undefined];
    driver = kafkajs({ brokers });
    await driver.admin().createTopics([{ name: topic, partitions: 1 }]);
  });

  afterEach(async () => {
    await intake?.close();
    await driver.close();
  });

  async function write(count: number, keys: number): Promise<void> {
    const producer = driver.producer();
    await producer.send(
      upTo(count).map((index) => ({ topic, partition: 0, key: `key-${index % keys}`, value: '1' })),
    );
    await producer.close();
  }

  async function commit(): Promise<CommittedOffset | undefined> {
    const offsets = await driver.admin().groupOffsets(groupId);
    return offsets.find(({ partition }) => partition === 0);
  }

  const hasCommitted = (offset: number): Promise<unknown> =>
    eventually(async () => (await commit())?.offset === offset, {
      description: `offset ${offset} to be committed`,
      timeoutMs: 60_000,
      intervalMs: 50,
    });

  async function start(
    processor: RecordProcessor,
    settings: Partial<ConsumingSettings>,
  ): Promise<ConsumingSession> {
    intake = createConsumingSession({
      containerId: 'eventbus-orders',
      sessionIndex: 0,
      driver,
      consumer: { groupId, topics: [topic] },
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
      processor,
      runtime: realRuntime,
      logger: silent,
    });
    await intake.start();
    return intake;
  }

  it('hold no more bytes than their limit, however many records the topic has', async () => {
    const [bytes, count] = [100_000, 200];
    const producer = driver.producer();
    const value = Buffer.alloc(bytes);
    await producer.send(upTo(count).map((key) => ({ topic, partition: 0, key: `${key}`, value })));
    await producer.close();
    const gate = new Deferred();
    const session = await start(
      {
        process: async () => {
          await gate.promise;
          return succeeded;
        },
      },
      { processing: { by: 'key', maxConcurrency: 4 }, maxPollRecords: 1_000 },
    );
    await eventually(() => session.counts.inFlight * bytes >= MEMORY_BYTES / 2);
    await sleep(realRuntime, 1_000);
    expect(session.counts.inFlight * bytes).toBeLessThanOrEqual(MEMORY_BYTES + bytes);
    gate.resolve();
    await hasCommitted(count);
    expect(session.counts).toMatchObject({ received: count, inFlight: 0 });
  });

  it('run maxConcurrency handlers with processing by key, and keep the order of each key', async () => {
    await write(10_000, 1_000);
    const atOnce = 400;
    const seen = new Map<string, number>();
    let [outOfOrder, workMs, running, most, startedAt] = [0, 0, 0, 0, 0];
    // The first handlers wait for each other, so the number of parallel handlers does not depend on speed.
    const allRunning = new Deferred();
    const handle: RecordProcessor['process'] = async ({ record }) => {
      const key = String(record.key);
      if ((seen.get(key) ?? -1) > record.offset) outOfOrder++;
      seen.set(key, record.offset);
      const ms = realRuntime.random() * 5;
      workMs += ms;
      most = Math.max(most, ++running);
      if (running === atOnce) allRunning.resolve();
      await allRunning.promise;
      startedAt ||= realRuntime.monotonic();
      await sleep(realRuntime, ms);
      running--;
      return succeeded;
    };
    const processing = { by: 'key', maxConcurrency: atOnce } as const;
    const session = await start({ process: handle }, { processing });
    await eventually(() => session.counts.succeeded === 10_000, { timeoutMs: 60_000 });
    const tookMs = realRuntime.monotonic() - startedAt;
    process.stderr.write(
      `by key: ${Math.round(workMs)} ms of work in ${Math.round(tookMs)} ms, ratio ${(workMs / tookMs).toFixed(0)}\n`,
    );
    await hasCommitted(10_000);
    expect([outOfOrder, most]).toEqual([0, atOnce]);
  });

  it('deliver a delayed record not before it is due', async () => {
    const lateMs: number[] = [];
    const session = await start(
      {
        process: ({ record }) => {
          lateMs.push(realRuntime.now() - (record.timestamp + 300));
          return succeeded;
        },
        dueAt: ({ timestamp }) => timestamp + 300,
      },
      {},
    );
    const producer = driver.producer({ lingerMs: 0 });
    for (let sent = 0; sent < 50; sent++) {
      await producer.send([{ topic, partition: 0, value: '1' }]);
      await sleep(realRuntime, 20);
    }
    await producer.close();
    await eventually(() => session.counts.succeeded === 50, { timeoutMs: 60_000 });
    const sorted = lateMs.toSorted((one, other) => one - other);
    process.stderr.write(`due: at most ${sorted.at(-1)} ms late, p50 ${sorted[25]} ms\n`);
    expect(sorted[0]).toBeGreaterThanOrEqual(0);
  });

  it.each<readonly [ConsumingSettings['listenerType'], string]>([
    ['BATCH', 'handled record by record'],
    ['BATCH', 'handled in several calls'],
    ['SINGLE', 'handled record by record'],
  ])(
    'cut a slow slice of a %s listener, %s, and deliver its other records once, in a later slice',
    async (listenerType, way) => {
      await write(12, 12);
      const handled: number[] = [];
      const slices = new Set<number>();
      const process: RecordProcessor['process'] = async ({ record, receivedAt }) => {
        handled.push(record.offset);
        slices.add(receivedAt);
        await sleep(realRuntime, 200);
        return succeeded;
      };
      const processSlice: RecordProcessor['processSlice'] = async ([first]) => [
        await process(first!),
      ];
      const isWhole = way.startsWith('taken as a whole');
      const session = await start(
        { process, ...(isWhole && { processSlice }) },
        { listenerType, ackMode: 'MANUAL', maxPollIntervalMs: 1_000 },
      );
      await hasCommitted(12);
      expect(handled).toEqual(upTo(12));
      expect(session.counts.slicesCut).toBeGreaterThanOrEqual(2);
      expect(slices.size).toBeGreaterThanOrEqual(3);
    },
  );

  it('do not deliver a record again after a kill if an acknowledged commit contains it', async () => {
    await write(3_000, 300);
    const settings = { brokers, topic, groupId, maxConcurrency: 50 };
    const script = join(__dirname, '../support/children/keyed-orders.ts');
    const first = new Child(script, { args: [JSON.stringify({ ...settings, stuckAt: 7 })] });
    const done = ({ stdout }: Child): number[] =>
      [...stdout.matchAll(/^done (\d+)$/gm)].map(([, offset]) => Number(offset));
    await eventually(() => done(first).length > 1_500, { timeoutMs: 60_000 });
    first.kill();
    await first.ended;
    const { offset = 0, metadata = null } = (await commit()) ?? {};
    const runs = decodeMetadata({ partition: 0, offset }, metadata)?.ranges ?? [];
    const isRecorded = (each: number): boolean =>
      each < offset || runs.some(({ from, to }) => from <= each && each < to);
    expect(offset).toBe(7);
    expect(done(first).filter(isRecorded).length).toBeGreaterThan(500);
    const second = new Child(script, { args: [JSON.stringify(settings)] });
    await hasCommitted(3_000);
    second.kill();
    await second.ended;
    const again = done(second).filter((each) => done(first).includes(each));
    process.stderr.write(
      `after the kill: ${done(first).length} were done, ${again.length} of them delivered again\n`,
    );
    expect(done(second).filter(isRecorded)).toEqual([]);
    expect(new Set([...done(first), ...done(second)])).toEqual(new Set(upTo(3_000)));
  });
});
