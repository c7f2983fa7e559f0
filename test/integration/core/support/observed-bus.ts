import type { AddressInfo } from 'node:net';
import type { BrokerDriver } from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { memory, MemoryBroker } from '@nest-event-bus/broker/memory';
import { EventBusConnector, EventBusModule } from '@nest-event-bus/core';
import { EventBusMetricsModule } from '@nest-event-bus/core/prometheus';
import { eventually, unique } from '@nest-event-bus/testing';
import type { INestApplication, ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Registry } from 'prom-client';
import {
  parseScrape,
  scraped,
  type ScrapedSample,
} from '../../../../libs/core/test/support/prometheus-text.spec-support.js';

type Given = NonNullable<Parameters<typeof EventBusModule.forRoot>[0]>;
/** Options in the form of a literal, as users write them. */
type Options = Pick<Given, keyof Given>;

const PATIENCE_MS = 90_000;

/** A broker for one test: a real one, or one inside this process. */
export interface ObservedBroker {
  readonly driver: () => BrokerDriver;
}

export function kafkaBroker(brokers: readonly string[]): ObservedBroker {
  return { driver: () => kafkajs({ brokers }) };
}

export function memoryBroker(): ObservedBroker {
  const broker = new MemoryBroker();
  return { driver: () => memory({ broker }) };
}

/** An application with an HTTP server, whose metrics are scraped as Prometheus does. */
export class ObservedBus {
  readonly topic = unique('orders');
  readonly #outside: BrokerDriver;
  #application: INestApplication | undefined;

  constructor(private readonly broker: ObservedBroker) {
    this.#outside = broker.driver();
  }

  get application(): INestApplication {
    if (!this.#application) throw new Error('Call start() first.');
    return this.#application;
  }

  get connector(): EventBusConnector {
    return this.application.get(EventBusConnector);
  }

  async createTopics(partitions: number, ...names: readonly string[]): Promise<void> {
    await this.#outside.admin().createTopics(names.map((name) => ({ name, partitions })));
  }

  /** Starts an application and waits until its sessions have joined their groups. */
  async start(
    options: Options,
    { imports = [], providers = [] }: ModuleMetadata,
  ): Promise<INestApplication> {
    class App {}
    const registry = new Registry();
    this.#application = await NestFactory.create(
      {
        module: App,
        imports: [
          EventBusModule.forRoot({ ...options, driver: this.broker.driver() }),
          EventBusMetricsModule.forRoot({ registry, endpoint: '/metrics' }),
          ...imports,
        ],
        providers,
      },
      { logger: false, abortOnError: false },
    );
    await this.#application.listen(0, '127.0.0.1');
    await this.until('all sessions have joined', () => this.connector.health().status === 'UP');
    return this.#application;
  }

  /** Writes the values into one partition, as one batch. */
  async write(topic: string, partition: number, ...values: readonly string[]): Promise<void> {
    const records = values.map((value) => ({ topic, partition, value }));
    await this.#outside.producer().send(records);
  }

  async scrape(): Promise<readonly ScrapedSample[]> {
    const { port } = (this.application.getHttpServer() as { address(): AddressInfo }).address();
    const response = await fetch(`http://127.0.0.1:${port}/metrics`);
    if (!response.ok) throw new Error(`The scrape ended with ${response.status}.`);
    return parseScrape(await response.text());
  }

  /** Scrapes until the sum of the samples has this value. */
  async untilScraped(
    name: string,
    labels: Readonly<Record<string, string>>,
    value: number,
  ): Promise<void> {
    const what = `${name} ${JSON.stringify(labels)} is ${value}`;
    await this.until(what, async () => {
      const samples = await this.scrape();
      if (scraped(samples, name, labels) === value) return true;
      // The error of the last attempt is shown if the time is over.
      throw new Error(`it is ${scraped(samples, name, labels)}`);
    });
  }

  /** Waits for the condition, with a time limit that allows for a busy machine. */
  until(what: string, condition: () => boolean | Promise<boolean>): Promise<unknown> {
    return eventually(condition, {
      description: what,
      timeoutMs: PATIENCE_MS,
      intervalMs: 100,
    });
  }

  async end(): Promise<void> {
    await this.#application?.close();
    await this.#outside.close();
  }
}
