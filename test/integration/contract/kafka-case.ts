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
import { BrokerLine } from './broker-line.js';
import { expelMember } from './expel-member.js';

/** What can be done to any Kafka. */
const ALWAYS: readonly ContractAbility[] = ['openTransaction'];
/** What needs the only broker of a cluster: a line of one's own to it, and its groups. */
const WITH_ONE_BROKER: readonly ContractAbility[] = [
  'unplug',
  'loseAnswers',
  'delayAnswers',
  'expelMember',
];

export function abilitiesOn(brokers: readonly string[]): readonly ContractAbility[] {
  return brokers.length === 1 ? [...ALWAYS, ...WITH_ONE_BROKER] : ALWAYS;
}

/** Has a state of its own, as loggers have: a method that is called without its object throws. */
class PrivateLogger implements DriverLogger {
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

/** A case's way to a real cluster, which it shares with other cases. */
export class KafkaCase implements ContractBroker {
  readonly runtime = realRuntime;
  readonly #kafka: Kafka;
  readonly #lines = new Map<BrokerDriver, BrokerLine>();
  readonly #writers: Producer[] = [];
  #drivers = 0;

  constructor(private readonly brokers: readonly string[]) {
    this.#kafka = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING });
  }

  /** The first goes straight to the brokers, every other on a line of its own that can be cut. */
  async createDriver(): Promise<BrokerDriver> {
    const [broker] = this.brokers;
    const clientId = `process-${++this.#drivers}`;
    if (this.#drivers === 1 || this.brokers.length > 1 || broker === undefined)
      return kafkajs({ ...this.#settings(clientId), brokers: this.brokers });
    const line = await BrokerLine.to(broker);
    const driver = kafkajs({ ...this.#settings(clientId), brokers: [line.address] });
    this.#lines.set(driver, line);
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
    const line = this.#lineOf(driver);
    line.unplug();
    return () => line.plugIn();
  }

  loseAnswers(driver: BrokerDriver): Undo {
    const line = this.#lineOf(driver);
    line.loseAnswers(true);
    return () => line.loseAnswers(false);
  }

  delayAnswers(driver: BrokerDriver, delayMs: number): Undo {
    const line = this.#lineOf(driver);
    line.delayAnswers(delayMs);
    return () => line.delayAnswers(0);
  }

  expelMember(groupId: string, memberId: string): Promise<void> {
    return expelMember(this.brokers[0] ?? '', groupId, memberId);
  }

  async close(): Promise<void> {
    await Promise.all(this.#writers.map((producer) => producer.disconnect()));
    await Promise.all([...this.#lines.values()].map((line) => line.close()));
  }

  #settings(clientId: string) {
    return { clientId, logger: new PrivateLogger(), metadataMaxAgeMs: 1_000 };
  }

  #lineOf(driver: BrokerDriver): BrokerLine {
    const line = this.#lines.get(driver);
    if (!line) throw new Error('Only drivers from world.process() have a line that can be cut.');
    return line;
  }
}

function asTopicMessages({ topic, key = null, value, partition }: OutgoingRecord) {
  return { topic, messages: [{ key, value, ...(partition === undefined ? {} : { partition }) }] };
}
