import type {
  AdminSession,
  BrokerDriver,
  BrokerRecord,
  NewTopic,
  ProducerSession,
} from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { realRuntime } from '@nest-event-bus/broker/runtime';
import {
  ContainerRegistry,
  EventBusConnector,
  EventBusModule,
  EventHandler,
  readDeadLetter,
  type BindingHealth,
  type ContainerRegistration,
  type DeliveryAttempt,
  type DltRecord,
  type EventContext,
  type EventRecord,
} from '@nest-event-bus/core';
import { eventually, unique } from '@nest-event-bus/testing';
import { Injectable, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

type MessageContainer = ContainerRegistration['mainContainer'];
type Given = NonNullable<Parameters<typeof EventBusModule.forRoot>[0]>;
/** Options in the form of a literal, as users write them. */
type Options = Pick<Given, keyof Given>;
export type Properties = Partial<NonNullable<Options['bindings']>[string]>;

/** One call of the handler. */
export interface Call {
  readonly groupId: string;
  readonly topic: string;
  readonly value: unknown;
  /** Time of the call by the wall clock, like the timestamps of records. */
  readonly at: number;
  /** Time at which the record was written to the topic in which it was handled. */
  readonly writtenAt: number;
  readonly attempt: DeliveryAttempt;
}

/** Session timeouts that are so short that a test can wait longer. */
export const QUICK = {
  sessionTimeoutMs: '3s',
  heartbeatIntervalMs: '300ms',
  pollTimeoutMs: '250ms',
} as const;

/** Returns retry tiers with these delays, and defaults for all other options. */
export const tiersOf = (...delays: readonly number[]) => delays.map((delayMs) => ({ delayMs }));

/** A topic of orders with its retry and dead-letter topics on a real broker, and applications that handle them. */
export class OrdersTestBus {
  readonly topic = unique('orders');
  readonly groupId = unique('shop');
  readonly deadLetterTopic = `${this.topic}.DLT`;
  readonly calls: Call[] = [];
  /** Warnings and errors of all applications. */
  readonly logLines: string[] = [];
  readonly admin: AdminSession;
  readonly #driver: BrokerDriver;
  readonly #producer: ProducerSession;
  readonly #applications: INestApplicationContext[] = [];

  /** The handler of all applications; by default it always fails. */
  handle: (record: EventRecord, context: EventContext) => unknown = () => {
    throw new Error('the warehouse does not answer');
  };

  constructor(private readonly brokers: readonly string[]) {
    this.#driver = kafkajs({ brokers });
    this.admin = this.#driver.admin();
    this.#producer = this.#driver.producer();
  }

  retryTopic(tier: number): string {
    return `${this.topic}.retry-${tier}`;
  }

  /** Creates the main, retry and dead-letter topics except those in `without`. */
  async createTopics(
    shape: Omit<NewTopic, 'name'> & { readonly tiers?: number; readonly without?: string } = {},
  ): Promise<void> {
    const { tiers = 0, without, partitions = 1, ...rest } = shape;
    const retries = Array.from({ length: tiers }, (_, index) => this.retryTopic(index + 1));
    const names = [this.topic, ...retries, this.deadLetterTopic];
    const wanted = names.filter((name) => name !== without);
    await this.admin.createTopics(wanted.map((name) => ({ name, partitions, ...rest })));
  }

  /** Starts an application and waits until its sessions have joined their groups. */
  async start(
    { groupId = this.groupId, ...properties }: Properties = {},
    options: Options = {},
  ): Promise<INestApplicationContext> {
    const binding = { topic: this.topic, groupId, ...QUICK, ...properties };
    const record = (message: unknown): void => void this.logLines.push(String(message));
    const logger = { log: () => undefined, warn: record, error: record };
    class App {}
    const application = await NestFactory.createApplicationContext(
      {
        module: App,
        imports: [
          EventBusModule.forRoot({
            ...('clusters' in options ? {} : { brokers: this.brokers }),
            ...options,
            bindings: { orders: binding },
          }),
        ],
        providers: [this.#handlers(groupId)],
      },
      { logger, abortOnError: false },
    );
    this.#applications.push(application);
    await this.#hasJoined(application);
    return application;
  }

  write(...values: readonly string[]): Promise<void> {
    return this.writeTo(0, ...values);
  }

  async writeTo(partition: number, ...values: readonly string[]): Promise<void> {
    const { topic } = this;
    await this.#producer.send(values.map((value) => ({ topic, partition, value })));
  }

  /** Writes one record per key. */
  async writeKeysTo(partition: number, keys: readonly string[]): Promise<void> {
    const { topic } = this;
    await this.#producer.send(keys.map((key) => ({ topic, partition, key, value: '1' })));
  }

  async records(topic: string): Promise<readonly BrokerRecord[]> {
    const found: BrokerRecord[] = [];
    for (const { partition, low, high } of await this.admin.watermarks(topic))
      for await (const record of this.admin.readRange(topic, partition, low, high))
        found.push(record);
    return found;
  }

  async letters(): Promise<readonly DltRecord[]> {
    return (await this.records(this.deadLetterTopic)).map(readDeadLetter);
  }

  /** Returns the sum of the committed offsets. With one partition this is its committed offset. */
  async committed(groupId = this.groupId): Promise<number> {
    const offsets = await this.admin.groupOffsets(groupId);
    return offsets.reduce((sum, { offset }) => sum + Math.max(0, offset), 0);
  }

  async members(groupId = this.groupId): Promise<readonly string[]> {
    const { members } = await this.admin.describeGroup(groupId);
    return members.map(({ memberId }) => memberId).toSorted();
  }

  health(application: INestApplicationContext): BindingHealth {
    const [binding] = application.get(EventBusConnector).health().bindings;
    if (!binding) throw new Error('There is no binding.');
    return binding;
  }

  /** Stops all applications. */
  async stop(): Promise<void> {
    await Promise.all(this.#applications.splice(0).map((application) => application.close()));
  }

  async end(): Promise<void> {
    await this.stop();
    await this.#driver.close();
  }

  /** Waits for the condition, with a time limit that allows for a busy machine. */
  until<T>(what: string, condition: () => T | Promise<T>, timeoutMs = 20_000) {
    return eventually(condition, { description: what, timeoutMs, intervalMs: 50 });
  }

  #handlers(groupId: string) {
    const called = (record: EventRecord, context: EventContext): unknown => {
      const { topic, value, timestamp: writtenAt } = record;
      const { attempt } = context;
      this.calls.push({ groupId, topic, value, at: realRuntime.now(), writtenAt, attempt });
      return this.handle(record, context);
    };
    @Injectable()
    class Handlers {
      @EventHandler('orders')
      async onOrder(record: EventRecord, context: EventContext): Promise<unknown> {
        return called(record, context);
      }
    }
    return Handlers;
  }

  /** Returns the main container and the containers of the tiers, in this order. */
  containers(application: INestApplicationContext): readonly MessageContainer[] {
    const { mainContainer, retryTierContainers } = application
      .get(ContainerRegistry)
      .require('orders');
    return [mainContainer, ...retryTierContainers];
  }

  /** Waits until all sessions have joined, except those whose retry topic does not exist yet. */
  async #hasJoined(application: INestApplicationContext): Promise<void> {
    const isReady = (state: string): boolean => state === 'joined' || state === 'topic-missing';
    await this.until('the application to join its groups', () =>
      this.containers(application).every(({ status }) => isReady(status.state)),
    );
  }
}
