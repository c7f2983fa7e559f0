import { inspect } from 'node:util';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import {
  EventBusConnector,
  EventBusModule,
  EventHandler,
  EventPublisher,
  type EventRecord,
} from '@nest-event-bus/core';
import { EventBusHealthIndicator, EventBusHealthModule } from '@nest-event-bus/core/terminus';
import { eventually, unique } from '@nest-event-bus/testing';
import { Injectable, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { describeWithCluster } from '../../support/index.js';

const PASSWORD = 'the-shop-keeps-a-secret';
const WRONG_PASSWORD = 'not-the-password';

const security = {
  users: { shop: PASSWORD },
  listeners: { secured: { tls: 'server', sasl: 'SCRAM-SHA-512' } },
} as const;

const handled: unknown[] = [];

@Injectable()
class Handlers {
  @EventHandler('orders')
  handle({ value }: EventRecord): void {
    handled.push(value);
  }
}

type Options = NonNullable<Parameters<typeof EventBusModule.forRoot>[0]>;
type Cluster = NonNullable<Options['clusters']>[string];

/** Log messages of the application at every level, with their context. */
const logLines: string[] = [];
const record = (...words: unknown[]): void => {
  logLines.push(words.map((word) => inspect(word, { depth: 20, showHidden: true })).join(' '));
};
const logger = {
  log: record,
  warn: record,
  error: record,
  debug: record,
  verbose: record,
  fatal: record,
};

describeWithCluster('An application on a secured Kafka', { security }, (cluster) => {
  const applications: INestApplicationContext[] = [];
  let topic: string;

  beforeEach(async () => {
    handled.length = 0;
    logLines.length = 0;
    topic = unique('orders');
    const driver = kafkajs({ brokers: cluster().brokers });
    await driver.admin().createTopics([{ name: topic, partitions: 1 }]);
    await driver.close();
  });
  afterEach(async () => {
    for (const application of applications.splice(0)) await application.close();
  });

  const accessTo = () => ({
    brokers: cluster().securedBrokers['secured'] ?? [],
    ssl: { ca: cluster().certificates?.ca ?? '' },
  });
  const accessWith = (password: string): Cluster => ({
    ...accessTo(),
    sasl: { mechanism: 'scram-sha-512', username: 'shop', password },
  });

  async function start(access: Cluster): Promise<INestApplicationContext> {
    class App {}
    const bindings = {
      orders: { topic, groupId: unique('shop'), provisioning: 'create' },
    } as const;
    const imports = [
      EventBusModule.forRoot({ clusters: { default: access }, bindings }),
      EventBusHealthModule,
    ];
    const application = await NestFactory.createApplicationContext(
      { module: App, imports, providers: [Handlers] },
      { logger, abortOnError: false },
    );
    applications.push(application);
    return application;
  }

  /** Returns all text about the bus that an operator can see. */
  const shown = (application: INestApplicationContext): string =>
    inspect(
      [
        application.get(EventBusConnector).health(),
        application.get(EventBusHealthIndicator).isHealthy('eventbus'),
        logLines,
      ],
      { depth: 20, showHidden: true, maxArrayLength: null, maxStringLength: null },
    );

  it('handles the record that it publishes over SASL_SSL with SCRAM, and never shows the password', async () => {
    const application = await start(accessWith(PASSWORD));
    await application.get(EventPublisher).publish('orders', { id: 7 });
    await eventually(() => handled.length === 1, { timeoutMs: 20_000 });
    expect(handled).toEqual([{ id: 7 }]);
    expect(application.get(EventBusConnector).health().status).toBe('UP');
    expect(shown(application)).not.toContain(PASSWORD);
    await application.close();
    expect(logLines.join()).not.toContain(PASSWORD);
  });

  it('has health DOWN with advice if its password is wrong, and never shows the password', async () => {
    const application = await start(accessWith(WRONG_PASSWORD));
    const health = () => application.get(EventBusConnector).health();
    await eventually(() => /Check the sasl mechanism/.test(JSON.stringify(health())), {
      timeoutMs: 20_000,
    });
    expect(health().status).toBe('DOWN');
    expect(logLines.join()).toContain('did not accept the credentials');
    await expect(application.get(EventPublisher).publish('orders', { id: 7 })).rejects.toThrow(
      /Check the sasl mechanism/,
    );
    expect(shown(application)).not.toContain(WRONG_PASSWORD);
  });

  it.each<[string, unknown]>([
    ['a string', `shop:${WRONG_PASSWORD}`],
    ['a list', ['shop', WRONG_PASSWORD]],
    ['options without a mechanism', { username: 'shop', password: WRONG_PASSWORD }],
    [
      'an unknown mechanism',
      { mechanism: 'scram-sha-512', username: 'shop', passwort: WRONG_PASSWORD },
    ],
  ])(
    'does not start if its sasl option is %s, and never shows the password',
    async (_name, sasl) => {
      const error: unknown = await start({ ...accessTo(), sasl } as Cluster).catch(
        (reason: unknown) => reason,
      );
      const shownText = inspect(error, { depth: 20 }) + logLines.join();
      expect(error).toBeInstanceOf(Error);
      expect(shownText).toMatch(/sasl/);
      expect(shownText).not.toContain(WRONG_PASSWORD);
    },
  );
});
