import { inspect } from 'node:util';
import type { BrokerDriver, BrokerRecord, OutgoingRecord } from '@nest-event-bus/broker';
import { memory, MemoryBroker, type MemoryBrokerOptions } from '@nest-event-bus/broker/memory';
import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import type { INestApplication, LoggerService, ModuleMetadata } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import type { EventBusProperties } from '../../src/config/properties/event-bus-properties.js';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { EventBusModule } from '../../src/nest/event-bus.module.js';

/** Records what an application logs through Nest's logger. */
export class RecordedLog implements LoggerService {
  readonly warnings: string[] = [];
  readonly errors: string[] = [];
  readonly infos: string[] = [];
  /** All lines of all levels, with everything that was passed to the logger. */
  readonly everything: string[] = [];
  log(message: unknown, ...more: unknown[]): void {
    this.infos.push(String(message));
    this.#record(message, more);
  }
  debug(message: unknown, ...more: unknown[]): void {
    this.#record(message, more);
  }
  verbose(message: unknown, ...more: unknown[]): void {
    this.#record(message, more);
  }
  warn(message: unknown, ...more: unknown[]): void {
    this.warnings.push(String(message));
    this.#record(message, more);
  }
  error(message: unknown, ...more: unknown[]): void {
    this.errors.push(String(message));
    this.#record(message, more);
  }
  fatal(message: unknown, ...more: unknown[]): void {
    this.error(message, ...more);
  }

  #record(message: unknown, more: readonly unknown[]): void {
    const shown = [message, ...more].map((each) =>
      typeof each === 'string' ? each : inspect(each, { depth: 10 }),
    );
    this.everything.push(shown.join(' '));
  }
}

/** Options in the form of a literal, as users write them. */
export type Options = Pick<EventBusProperties, keyof EventBusProperties>;

type RecordToWrite = string | (Partial<OutgoingRecord> & Pick<OutgoingRecord, 'value'>);

/** Runs applications on an in-memory broker in virtual time. */
export class TestBus {
  readonly runtime = new VirtualRuntime();
  readonly broker: MemoryBroker;
  readonly log = new RecordedLog();
  readonly outside: BrokerDriver;
  readonly #applications: { close(): Promise<void> }[] = [];

  constructor(cluster: Omit<MemoryBrokerOptions, 'runtime'> = {}) {
    this.broker = new MemoryBroker({ runtime: this.runtime, ...cluster });
    this.outside = memory({ broker: this.broker, clientId: 'outside' });
  }

  /** Options that nearly every test uses. */
  options(bindings: Options['bindings'] = {}): Options {
    const driver = memory({ broker: this.broker, clientId: 'bus' });
    return { driver, runtime: this.runtime, bindings };
  }

  module(options: Options): ReturnType<typeof EventBusModule.forRoot> {
    return EventBusModule.forRoot({ ...this.options(), ...options });
  }

  async compile(metadata: ModuleMetadata): Promise<TestingModule> {
    const building = Test.createTestingModule(metadata).setLogger(this.log);
    const application = await building.compile();
    this.#applications.push(application);
    return application;
  }

  /** Starts an application and waits until its sessions have joined their groups. */
  async start(metadata: ModuleMetadata): Promise<TestingModule> {
    const application = await this.compile(metadata);
    await this.done(application.init());
    await this.runtime.advance(500);
    return application;
  }

  /** Starts an application with an HTTP server, which has the methods useGlobal* of `main.ts`. */
  async startHttp(
    metadata: ModuleMetadata,
    prepare: (application: INestApplication) => unknown,
  ): Promise<INestApplication> {
    const application = (await this.compile(metadata)).createNestApplication();
    this.#applications.splice(-1, 1, application);
    prepare(application);
    await this.done(application.init());
    await this.runtime.advance(500);
    return application;
  }

  /** Starts an application with these providers and one binding `orders` of topic `orders`. */
  async startOrders(
    providers: NonNullable<ModuleMetadata['providers']>,
    properties: object = {},
    options: Options = {},
    imports: NonNullable<ModuleMetadata['imports']> = [],
  ): Promise<TestingModule> {
    const bindings = { orders: { topic: 'orders', groupId: 'shop', ...properties } };
    const bus = this.module({ ...options, bindings });
    return this.start({ imports: [bus, ...imports], providers });
  }

  async topic(name: string, partitions = 1): Promise<void> {
    await this.done(this.outside.admin().createTopics([{ name, partitions }]));
  }

  /** Creates the retry topics and the dead-letter topic that a binding of the topic has by default. */
  async failureTopics(topic = 'orders'): Promise<void> {
    for (const suffix of ['retry-1', 'retry-2', 'retry-3', 'DLT'])
      await this.topic(`${topic}.${suffix}`);
  }

  /** Writes records. A string stands for a record with this value. */
  async write(topic: string, ...records: readonly RecordToWrite[]): Promise<void> {
    const outgoing = records.map((record) => ({
      topic,
      partition: 0,
      ...(typeof record === 'string' ? { value: record } : record),
    }));
    await this.done(this.outside.producer({ lingerMs: 0 }).send(outgoing));
    await this.runtime.advance(100);
  }

  /** Reads all records of the topic, partition by partition. */
  async records(topic: string): Promise<readonly BrokerRecord[]> {
    const found: BrokerRecord[] = [];
    const admin = this.outside.admin();
    const read = async (partition: number, low: number, high: number): Promise<void> => {
      for await (const record of admin.readRange(topic, partition, low, high)) found.push(record);
    };
    for (const { partition, low, high } of await this.done(admin.watermarks(topic)))
      await this.done(read(partition, low, high));
    return found;
  }

  /** Committed offset of the group in the partition; 0 if there is none. */
  async committed(groupId = 'shop', partition = 0): Promise<number> {
    const offsets = await this.done(this.outside.admin().groupOffsets(groupId));
    return offsets.find((each) => each.partition === partition)?.offset ?? 0;
  }

  async members(groupId = 'shop') {
    return (await this.done(this.outside.admin().describeGroup(groupId))).members;
  }

  async topicNames(): Promise<readonly string[]> {
    return (await this.done(this.outside.admin().topics())).map(({ name }) => name);
  }

  /** Returns all groups that a member has joined, including empty ones. */
  async groups(): Promise<readonly string[]> {
    return (await this.done(this.outside.admin().groups())).map(({ groupId }) => groupId);
  }

  health(application: Pick<INestApplication, 'get'>) {
    return application.get(EventBusConnector, { strict: false }).health();
  }

  /** Advances the clock until the promise settles, and returns its result. */
  async done<T>(work: Promise<T>): Promise<T> {
    const state = { isDone: false };
    const watch = work.finally(() => (state.isDone = true));
    watch.catch(() => undefined);
    for (let steps = 0; steps < 2_000 && !state.isDone; steps++) await this.runtime.advance(50);
    return watch;
  }

  async end(): Promise<void> {
    for (const application of this.#applications.splice(0)) await this.done(application.close());
    await this.done(this.outside.close());
  }
}

/** Returns the error with which the promise rejects; undefined if it resolves. */
export async function errorOf(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
    return undefined;
  } catch (error) {
    return error;
  }
}
