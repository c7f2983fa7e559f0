import {
  FencedError,
  type BrokerDriver,
  type ConsumerOptions,
  type ConsumerSession,
  type DriverLogger,
} from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';

export const ascending = (numbers: readonly number[]): number[] =>
  numbers.toSorted((left, right) => left - right);

export interface DriverMemberOptions extends Pick<
  ConsumerOptions,
  'groupId' | 'assignors' | 'groupProtocol' | 'groupInstanceId'
> {
  readonly brokers: readonly string[];
  readonly topic: string;
  readonly logger?: DriverLogger;
}

/** A member that uses this driver. It reads and commits continuously. */
export class DriverMember {
  readonly calls: string[] = [];
  /** Delivered records as `partition:offset`, one entry per delivery. */
  readonly records: string[] = [];
  readonly errors: Error[] = [];
  readonly session: ConsumerSession;
  readonly #driver: BrokerDriver;
  readonly #topic: string;

  constructor({ brokers, logger, topic, ...options }: DriverMemberOptions) {
    this.#topic = topic;
    this.#driver = kafkajs({ brokers, ...(logger ? { logger } : {}) });
    this.session = this.#driver.consumer({
      topics: [topic],
      sessionTimeoutMs: 6_000,
      heartbeatIntervalMs: 300,
      ...options,
    });
    this.session.onStatus((status) => {
      if ('error' in status) this.errors.push(status.error);
    });
  }

  get owned(): number[] {
    return ascending(this.session.assignment().map(({ partition }) => partition));
  }

  async start(): Promise<void> {
    const record =
      (what: string) =>
      (partitions: readonly { partition: number }[]): void =>
        void this.calls.push(
          [what, ...ascending(partitions.map((each) => each.partition))].join(' '),
        );
    await this.session.start({
      onAssigned: record('assigned'),
      onRevoked: record('revoked'),
      onLost: record('lost'),
    });
    void this.#read().catch(() => undefined);
  }

  async close(): Promise<void> {
    await this.session.close();
    await this.#driver.close();
  }

  async #commit(partition: number, offset: number): Promise<void> {
    try {
      await this.session.commit([{ topic: this.#topic, partition, offset }]);
    } catch (error) {
      // The partition was revoked before the commit, so its new owner handles the record again.
      if (!(error instanceof FencedError)) throw error;
    }
  }

  async #read(): Promise<void> {
    for (;;) {
      for (const { partition, offset } of await this.session.poll(100)) {
        this.records.push(`${partition}:${offset}`);
        await this.#commit(partition, offset + 1);
      }
    }
  }
}

/** Returns the partition numbers of all calls with this name. */
export const numbersOf = (calls: readonly string[], what: string): number[] =>
  ascending(
    calls
      .filter((line) => line.split(' ')[0] === what)
      .flatMap((line) => line.split(' ').slice(1).map(Number)),
  );
