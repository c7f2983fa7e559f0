import { inspect } from 'node:util';
import type { BrokerDriver, DriverLogger, SessionStatus } from '@nest-event-bus/broker';
import { kafkajs, type KafkajsOptions, type SaslOptions } from '@nest-event-bus/broker/kafkajs';
import { realRuntime } from '@nest-event-bus/broker/runtime';
import { eventually, unique, type StartedKafka } from '@nest-event-bus/testing';

export const USER = { username: 'alice', password: 'alice-keeps-a-secret' };
export const USERS = { [USER.username]: USER.password };

export const ignore = (): void => undefined;

type SecurityOptions = Omit<KafkajsOptions, 'brokers'>;

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Returns an unsigned token, which Kafka's own validator for tests accepts. */
export function unsecuredToken(lifetimeSeconds = 3_600): string {
  const now = Math.floor(realRuntime.now() / 1_000);
  const claims = { sub: USER.username, iat: now - 60, exp: now + lifetimeSeconds };
  return `${encoded({ alg: 'none' })}.${encoded(claims)}.`;
}

/** Returns a custom authentication provider. It implements PLAIN, which every broker has. */
export function customPlainProvider({ username, password } = USER, onSent = ignore): SaslOptions {
  interface Exchange {
    saslAuthenticate(message: object): Promise<unknown>;
  }
  const authenticationProvider = (exchange: unknown) => ({
    authenticate: async () => {
      const text = Buffer.from(`\0${username}\0${password}`);
      const length = Buffer.alloc(4);
      length.writeInt32BE(text.length);
      const request = { encode: async () => Buffer.concat([length, text]) };
      const answer = (exchange as Exchange).saslAuthenticate({ request });
      onSent();
      await answer;
    },
  });
  return { mechanism: 'PLAIN', authenticationProvider };
}

/** The drivers of one test, with everything that they and their sessions have logged. */
export class SecuredClients {
  readonly logged: string[] = [];
  readonly #drivers: BrokerDriver[] = [];

  constructor(private readonly kafka: () => StartedKafka) {}

  /** Opens a driver on a secured listener. */
  driver(listener: string, access: SecurityOptions = {}): BrokerDriver {
    return this.driverAt(this.kafka().securedBrokers[listener] ?? [], access);
  }

  /** Opens a driver on the plain listener. */
  unsecuredDriver(): BrokerDriver {
    return this.driverAt(this.kafka().brokers);
  }

  driverAt(brokers: readonly string[], access: SecurityOptions = {}): BrokerDriver {
    const log = (message: string, fields?: unknown): void =>
      void this.logged.push(`${message} ${JSON.stringify(fields)}`);
    const logger: DriverLogger = { debug: log, info: log, warn: log, error: log };
    const driver = kafkajs({ brokers, requestTimeoutMs: 3_000, logger, ...access });
    this.#drivers.push(driver);
    return driver;
  }

  recordStatus(status: SessionStatus): void {
    this.logged.push(inspect(status, { depth: 20 }));
  }

  async close(): Promise<void> {
    await Promise.all(this.#drivers.splice(0).map((driver) => driver.close()));
  }
}

/** Writes three records and reads them back in a group that commits, all with this driver. */
export async function writeAndRead(driver: BrokerDriver): Promise<string[]> {
  const topic = unique('secured');
  await driver.admin().createTopics([{ name: topic, partitions: 1 }]);
  await driver.producer().send(['a', 'b', 'c'].map((value) => ({ topic, value })));
  const consumer = driver.consumer({ groupId: unique('readers'), topics: [topic] });
  await consumer.start({ onAssigned: ignore, onRevoked: ignore, onLost: ignore });
  const values: string[] = [];
  await eventually(
    async () => {
      for (const { value } of await consumer.poll(10)) values.push(String(value));
      return values.length >= 3;
    },
    { timeoutMs: 60_000 },
  );
  await consumer.commit([{ topic, partition: 0, offset: values.length }]);
  await consumer.close();
  return values;
}
