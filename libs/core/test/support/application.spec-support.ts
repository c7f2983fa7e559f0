import type { BrokerDriver, BrokerRecord, OutgoingRecord } from '@nest-event-bus/broker';
import { memory, MemoryBroker, type MemoryBrokerOptions } from '@nest-event-bus/broker/memory';
import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import type { INestApplication, LoggerService, ModuleMetadata } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import type { EventBusProperties } from '../../src/config/properties/event-bus-properties.js';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { EventBusModule } from '../../src/nest/event-bus.module.js';

/** What an application says through Nest's logger. */
export class Said implements LoggerService {
  readonly warnings: string[] = [];
  readonly errors: string[] = [];
  readonly infos: string[] = [];
  log(message: unknown): void {
    this.infos.push(String(message));
  }
  debug(): void {}
  warn(message: unknown): void {
    this.warnings.push(String(message));
  }
  error(message: unknown): void {
    this.errors.push(String(message));
  }
}

/** Options as users write them, as a literal. */
export type Options = Pick<EventBusProperties, keyof EventBusProperties>;

type Written = string | (Partial<OutgoingRecord> & Pick<OutgoingRecord, 'value'>);

/** Applications on a broker in this process, in virtual time. */
export class World {
  readonly runtime = new VirtualRuntime();
  readonly broker: MemoryBroker;
  readonly said = new Said();
  readonly outside: BrokerDriver;
  readonly #applications: { close(): Promise<void> }[] = [];

  constructor(cluster: Omit<MemoryBrokerOptions, 'runtime'> = {}) {
    this.broker = new MemoryBroker({ runtime: this.runtime, ...cluster });
    this.outside = memory({ broker: this.broker, clientId: 'outside' });
  }

  /** What of the options is the same in nearly every test. */
  options(bindings: Options['bindings'] = {}): Options {
    const driver = memory({ broker: this.broker, clientId: 'bus' });
    return { driver, runtime: this.runtime, bindings };
  }

  bus(options: Options): ReturnType<typeof EventBusModule.forRoot> {
    return EventBusModule.forRoot({ ...this.options(), ...options });
  }

  async compile(metadata: ModuleMetadata): Promise<TestingModule> {
    const building = Test.createTestingModule(metadata).setLogger(this.said);
    const application = await building.compile();
    this.#applications.push(application);
    return application;
  }

  /** Initialised, and with its sessions in their groups. */
  async start(metadata: ModuleMetadata): Promise<TestingModule> {
    const application = await this.compile(metadata);
    await this.done(application.init());
    await this.runtime.advance(500);
    return application;
  }

  /** With an HTTP server: only there has `main.ts` the methods useGlobal*. */
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

  /** One topic with its binding, both named `orders`, and these providers. */
  async startOrders(
    providers: NonNullable<ModuleMetadata['providers']>,
    properties: object = {},
    options: Options = {},
  ): Promise<TestingModule> {
    const bindings = { orders: { topic: 'orders', groupId: 'shop', ...properties } };
    return this.start({ imports: [this.bus({ ...options, bindings })], providers });
  }

  async topic(name: string, partitions = 1): Promise<void> {
    await this.done(this.outside.admin().createTopics([{ name, partitions }]));
  }

  /** Strings are values. */
  async write(topic: string, ...records: readonly Written[]): Promise<void> {
    const outgoing = records.map((record) => ({
      topic,
      partition: 0,
      ...(typeof record === 'string' ? { value: record } : record),
    }));
    await this.done(this.outside.producer({ lingerMs: 0 }).send(outgoing));
    await this.runtime.advance(100);
  }

  /** All that is in the topic, partition by partition. */
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

  /** The group's next offset in the partition; 0 where it has none. */
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

  /** Groups that anybody has ever joined. */
  async groups(): Promise<readonly string[]> {
    return (await this.done(this.outside.admin().groups())).map(({ groupId }) => groupId);
  }

  health(application: Pick<INestApplication, 'get'>) {
    return application.get(EventBusConnector, { strict: false }).health();
  }

  /** Lets the time that the work needs go by. */
  async done<T>(work: Promise<T>): Promise<T> {
    const seen = { isDone: false };
    const watch = work.finally(() => (seen.isDone = true));
    watch.catch(() => undefined);
    for (let tries = 0; tries < 2_000 && !seen.isDone; tries++) await this.runtime.advance(50);
    return watch;
  }

  async end(): Promise<void> {
    for (const application of this.#applications.splice(0)) await this.done(application.close());
    await this.done(this.outside.close());
  }
}

/** What stops the application. */
export async function errorOf(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
    return undefined;
  } catch (error) {
    return error;
  }
}
