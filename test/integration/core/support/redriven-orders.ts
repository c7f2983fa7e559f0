import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { AdminSession, BrokerDriver, OutgoingRecord } from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import {
  DltReplayService,
  DltStatsService,
  EventBusModule,
  type EventBusModuleOptions,
} from '@nest-event-bus/core';
import { DEFAULT_KAFKA_VERSION, eventually, unique } from '@nest-event-bus/testing';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { kafkaJars } from '../../../../libs/testing/src/kafka/local/kafka-jars.js';
import { Child } from './children/child-process.js';

const PROGRAM = join(__dirname, 'children/redriving-orders.ts');
const READER = join(__dirname, 'children/ReadCommitted.java');
const LETTERS_PER_SEND = 2_000;
const DUE_EVERY_MS = 500;

/** A topic of orders with dead letters on a real broker, and processes that redrive them. */
export class RedrivenOrders {
  readonly topic = unique('orders');
  readonly groupId = unique('shop');
  readonly deadLetterTopic = `${this.topic}.DLT`;
  readonly admin: AdminSession;
  readonly #driver: BrokerDriver;
  readonly #children: Child[] = [];
  #application: INestApplicationContext | undefined;

  constructor(
    private readonly brokers: readonly string[],
    private readonly partitions: number,
  ) {
    this.#driver = kafkajs({ brokers });
    this.admin = this.#driver.admin();
  }

  /** Creates the topics, and writes dead letters whose values are 0, 1, 2, ... */
  async prepare(letters: number): Promise<void> {
    const { partitions } = this;
    await this.admin.createTopics(
      [this.topic, this.deadLetterTopic].map((name) => ({ name, partitions })),
    );
    await this.write(0, letters);
  }

  async write(from: number, letters: number): Promise<void> {
    const producer = this.#driver.producer();
    for (let first = from; first < from + letters; first += LETTERS_PER_SEND) {
      const count = Math.min(LETTERS_PER_SEND, from + letters - first);
      await producer.send(Array.from({ length: count }, (_, index) => this.#letter(first + index)));
    }
    await producer.close();
  }

  async send(records: readonly OutgoingRecord[]): Promise<void> {
    const producer = this.#driver.producer();
    await producer.send(records);
    await producer.close();
  }

  /** Names of all headers in a topic. */
  async headerNames(topic: string): Promise<readonly string[]> {
    const names = new Set<string>();
    for (const { partition, low, high } of await this.admin.watermarks(topic))
      for await (const { headers } of this.admin.readRange(topic, partition, low, high))
        for (const { key } of headers) names.add(key);
    return [...names];
  }

  /** Starts an application of this process, which consumes nothing. */
  async replayService(
    replay: { readonly cooldownMs?: number; readonly batchSize?: number } = {},
    access: Partial<EventBusModuleOptions> = { brokers: this.brokers },
  ): Promise<DltReplayService> {
    const { groupId, topic } = this;
    class App {}
    const orders = { topic, groupId, provisioning: 'create' as const, dlt: { replay } };
    const module = EventBusModule.forRoot({
      ...access,
      bindings: { orders },
      bindingsWithoutHandler: 'allow',
    });
    this.#application = await NestFactory.createApplicationContext(
      { module: App, imports: [module] },
      { logger: ['error'], abortOnError: false },
    );
    return this.#application.get(DltReplayService);
  }

  stats(): DltStatsService {
    if (!this.#application) throw new Error('Call replayService() first.');
    return this.#application.get(DltStatsService);
  }

  /** Starts a process that runs the plan. */
  startNode(planId: string, rate: number): Child {
    const { brokers, groupId, topic } = this;
    const settings = { brokers, groupId, topic, planId, rate };
    const child = new Child(PROGRAM, { args: [JSON.stringify(settings)] });
    this.#children.push(child);
    return child;
  }

  /** Waits for the condition, with a time limit that allows for a busy machine. */
  until(what: string, condition: () => Promise<boolean>): Promise<unknown> {
    return eventually(condition, { description: what, timeoutMs: 120_000, intervalMs: 250 });
  }

  /** Replays due letters again and again until the condition holds. Resolves with their number. */
  async replayDueUntil(condition: () => Promise<boolean>): Promise<number> {
    if (!this.#application) throw new Error('Call replayService() first.');
    const replay = this.#application.get(DltReplayService);
    let replayed = 0;
    while (!(await condition())) {
      replayed += (await replay.replayDue('orders')).replayed;
      await delay(DUE_EVERY_MS);
    }
    return replayed;
  }

  /** Original positions in the topic of orders, read by Kafka's own consumer with read_committed. */
  async positionsSeenByJava(): Promise<readonly string[]> {
    const names = ['x-eventbus-original-partition', 'x-eventbus-original-offset'];
    return this.#seenByJava(names.join());
  }

  /** Values of the topic of orders, read by Kafka's own consumer with read_committed. */
  async valuesSeenByJava(): Promise<readonly number[]> {
    const values = await this.#seenByJava();
    return values.map(Number).toSorted((one, other) => one - other);
  }

  async #seenByJava(...headers: readonly string[]): Promise<readonly string[]> {
    const { java, classPath } = await kafkaJars(DEFAULT_KAFKA_VERSION);
    const { stdout } = await promisify(execFile)(
      java,
      [
        ...['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', classPath],
        ...[READER, this.brokers.join(), this.topic, ...headers],
      ],
      { timeout: 240_000, killSignal: 'SIGKILL', maxBuffer: 64 * 1024 * 1024 },
    );
    return stdout.split('\n').filter((line) => line !== '');
  }

  async end(): Promise<void> {
    for (const child of this.#children) child.kill();
    await Promise.all(this.#children.map(({ ended }) => ended));
    await this.#application?.close();
    await this.#driver.close();
  }

  #letter(index: number): OutgoingRecord {
    const partition = index % this.partitions;
    const headers = {
      'x-eventbus-version': '1',
      'x-eventbus-binding-name': 'orders',
      'x-eventbus-group-id': this.groupId,
      'x-eventbus-original-topic': this.topic,
      'x-eventbus-original-partition': String(partition),
      'x-eventbus-original-offset': String(1_000_000 + index),
      'x-eventbus-original-timestamp': '1700000000000',
      'x-eventbus-total-attempts': '4',
      'x-eventbus-dlt-reason': 'RETRIES_EXHAUSTED',
      'x-eventbus-dlt-cause': 'exhausted',
      'x-eventbus-last-exception-class': index % 2 === 0 ? 'OutOfStock' : 'TimeoutError',
      'x-eventbus-last-exception-message': `order ${index} failed`,
    };
    return {
      topic: this.deadLetterTopic,
      partition,
      key: `order-${index}`,
      value: String(index),
      headers: Object.entries(headers).map(([key, value]) => ({ key, value })),
    };
  }
}
