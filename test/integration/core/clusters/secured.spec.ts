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
  listeners: {
    secured: { tls: 'server', sasl: 'SCRAM-SHA-512' },
    tokens: { sasl: 'OAUTHBEARER' },
  },
} as const;

/** Part of every secret text of these tests. It has a line break, and is no identifier. */
const MARK = 's3cr3t';
const SECRET = `${MARK} of jane@example.org\n[Nest] 1 ERROR ${MARK}`;

const throwSecret = (): never => {
  throw Object.assign(new Error(SECRET, { cause: new Error(SECRET) }), { name: SECRET });
};

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

  async function start(access: Cluster, more: object = {}): Promise<INestApplicationContext> {
    class App {}
    const bindings = {
      orders: { topic, groupId: unique('shop'), provisioning: 'create', ...more },
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
    await eventually(() => handled.length === 1, { timeoutMs: 60_000 });
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
      timeoutMs: 60_000,
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

  const tokensFrom = (oauthBearerProvider: () => Promise<{ readonly value: string }>): Cluster => ({
    brokers: cluster().securedBrokers['tokens'] ?? [],
    sasl: { mechanism: 'oauthbearer', oauthBearerProvider },
  });

  it.each<[string, () => Cluster, RegExp]>([
    [
      'a token that the broker refuses',
      () => tokensFrom(async () => ({ value: `${MARK}.${MARK}.` })),
      /did not accept the token/,
    ],
    [
      'a token provider that throws',
      () => tokensFrom(async () => throwSecret()),
      /gave no token: Error\./,
    ],
    [
      'an authenticationProvider that throws',
      () => ({
        brokers: cluster().securedBrokers['tokens'] ?? [],
        sasl: { mechanism: 'oauthbearer', authenticationProvider: throwSecret },
      }),
      /the authenticationProvider of the sasl options failed with Error/,
    ],
    [
      'a key of TLS that cannot be read',
      () => ({
        ...accessTo(),
        sasl: { mechanism: 'scram-sha-512', username: 'shop', password: PASSWORD },
        ssl: { ...accessTo().ssl, key: SECRET, passphrase: SECRET },
      }),
      /Could not connect/,
    ],
    [
      'a function of the TLS options that refuses the broker',
      () => ({
        ...accessTo(),
        sasl: { mechanism: 'scram-sha-512', username: 'shop', password: PASSWORD },
        ssl: { ...accessTo().ssl, checkServerIdentity: () => new Error(SECRET) },
      }),
      /Could not connect/,
    ],
  ])('shows no secret of %s', async (_name, access, reason) => {
    const application = await start(access(), { provisioning: 'none' });
    const refusal: unknown = await application
      .get(EventPublisher)
      .publish('orders', { id: 7 }, { signal: AbortSignal.timeout(2_000) })
      .catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(Error);
    const health = () => JSON.stringify(application.get(EventBusConnector).health());
    await eventually(() => reason.test(health()), { timeoutMs: 60_000 });
    const { message, stack } = refusal as Error;
    expect([message, stack, inspect(refusal, { depth: 20 })].join()).not.toContain(MARK);
    expect(shown(application)).not.toContain(MARK);
  });

  it('shows no token of a schema registry that does not answer', async () => {
    const schemaRegistry = {
      url: 'http://127.0.0.1:2',
      auth: { username: MARK, password: SECRET },
      headers: { 'x-token': MARK },
    };
    const application = await start(accessWith(PASSWORD), {
      deserializer: 'avro',
      schemaRegistry,
    });
    const refusal: unknown = await application
      .get(EventPublisher)
      .publish('orders', { id: SECRET }, { key: SECRET })
      .catch((error: unknown) => error);
    expect((refusal as Error).message).toContain('The schema registry at http://127.0.0.1:2');
    expect(inspect(refusal, { depth: 20 })).not.toContain(MARK);
    expect(shown(application)).not.toContain(MARK);
  });

  it('shows nothing of a record that fails with a text of its payload', async () => {
    const dlt = { exceptionDetail: 'class', topic: `${topic}.DLT` };
    const retry = { tier0: { maxAttempts: 1 }, tiers: [] };
    const validated = { deserializer: 'typed-json', typedJson: { types: { Other: Handlers } } };
    const application = await start(accessWith(PASSWORD), { dlt, retry, ...validated });
    const headers = { __TypeId__: SECRET };
    const written = application.get(EventPublisher).publish('orders', { id: SECRET }, { headers });
    await written;
    await eventually(() => logLines.some((line) => line.includes(`${topic}.DLT: NON_RETRYABLE`)), {
      timeoutMs: 60_000,
    });
    expect(shown(application)).not.toContain(MARK);
  });
});
