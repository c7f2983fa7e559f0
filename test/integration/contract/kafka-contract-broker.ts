import { randomUUID } from 'node:crypto';
import { Kafka, logLevel, type Producer } from 'kafkajs';
import type { BrokerDriver, DriverLogger, OutgoingRecord } from '@nest-event-bus/broker';
import type {
  ContractAbility,
  ContractBroker,
  ContractTransaction,
  Undo,
} from '@nest-event-bus/broker/contract';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { realRuntime } from '@nest-event-bus/broker/runtime';
import { BrokerProxy } from './broker-proxy.js';
import { expelMember } from './expel-member.js';

/** Abilities on any Kafka. */
const ALWAYS_POSSIBLE: readonly ContractAbility[] = ['openTransaction'];
/**
 * Abilities that require a cluster with one broker: a proxy per driver, and access to the group
 * coordinator.
 */
const WITH_ONE_BROKER: readonly ContractAbility[] = [
  'unplug',
  'loseAnswers',
  'delayAnswers',
  'expelMember',
];

export function abilitiesOn(brokers: readonly string[]): readonly ContractAbility[] {
  return brokers.length === 1 ? [...ALWAYS_POSSIBLE, ...WITH_ONE_BROKER] : ALWAYS_POSSIBLE;
}

/** A logger with state, like real loggers: a method that is called without its object throws. */
class StatefulLogger implements DriverLogger {
  #lines = 0;
  debug(): void {
    this.count();
  }
  info(): void {
    this.count();
  }
  warn(): void {
    this.count();
  }
  error(): void {
    this.count();
  }
  private count(): number {
    return ++this.#lines;
  }
}

/** The environment of a case on a real cluster, which it shares with other cases. */
export class KafkaContractBroker implements ContractBroker {
  readonly runtime = realRuntime;
  readonly #kafka: Kafka;
  readonly #proxies = new Map<BrokerDriver, BrokerProxy>();
  readonly #writers: Producer[] = [];
  #drivers = 0;

  constructor(private readonly brokers: readonly string[]) {
    this.#kafka = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING });
  }

  /**
   * Creates a driver. The first one connects directly to the brokers, every other one through a
   * proxy of its own.
   */
  async createDriver(): Promise<BrokerDriver> {
    const [broker] = this.brokers;
    const clientId = `process-${++this.#drivers}`;
    if (this.#drivers === 1 || this.brokers.length > 1 || broker === undefined)
      return kafkajs({ ...this.#settings(clientId), brokers: this.brokers });
    const proxy = await BrokerProxy.listenFor(broker);
    const driver = kafkajs({ ...this.#settings(clientId), brokers: [proxy.address] });
    this.#proxies.set(driver, proxy);
    return driver;
  }

  async openTransaction(): Promise<ContractTransaction> {
    const producer = this.#kafka.producer({
      transactionalId: `contract-${randomUUID()}`,
      idempotent: true,
      maxInFlightRequests: 1,
    });
    this.#writers.push(producer);
    await producer.connect();
    const transaction = await producer.transaction();
    return {
      send: (records) => transaction.sendBatch({ topicMessages: records.map(asTopicMessages) }),
      commit: () => transaction.commit(),
      abort: () => transaction.abort(),
    };
  }

  unplug(driver: BrokerDriver): Undo {
    const proxy = this.#proxyOf(driver);
    proxy.disconnect();
    return () => proxy.reconnect();
  }

  loseAnswers(driver: BrokerDriver): Undo {
    const proxy = this.#proxyOf(driver);
    proxy.loseResponses(true);
    return () => proxy.loseResponses(false);
  }

  delayAnswers(driver: BrokerDriver, delayMs: number): Undo {
    const proxy = this.#proxyOf(driver);
    proxy.delayResponses(delayMs);
    return () => proxy.delayResponses(0);
  }

  expelMember(groupId: string, memberId: string): Promise<void> {
    return expelMember(this.brokers[0] ?? '', groupId, memberId);
  }

  async close(): Promise<void> {
    await Promise.all(this.#writers.map((producer) => producer.disconnect()));
    await Promise.all([...this.#proxies.values()].map((proxy) => proxy.close()));
  }

  #settings(clientId: string) {
    return { clientId, logger: new StatefulLogger(), metadataMaxAgeMs: 1_000 };
  }

  #proxyOf(driver: BrokerDriver): BrokerProxy {
    const proxy = this.#proxies.get(driver);
    if (!proxy)
      throw new Error(
        'Only drivers from context.newProcess() have a proxy that can be disconnected.',
      );
    return proxy;
  }
}

function asTopicMessages({ topic, key = null, value, partition }: OutgoingRecord) {
  return { topic, messages: [{ key, value, ...(partition === undefined ? {} : { partition }) }] };
}
