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

export interface OurMemberOptions extends Pick<
  ConsumerOptions,
  'groupId' | 'assignors' | 'groupProtocol' | 'groupInstanceId'
> {
  readonly brokers: readonly string[];
  readonly topic: string;
  readonly logger?: DriverLogger;
}

/** One of ours, which reads and commits all the time. */
export class OurMember {
  readonly told: string[] = [];
  /** As `partition:offset`, once for each time it came. */
  readonly records: string[] = [];
  readonly troubles: Error[] = [];
  readonly session: ConsumerSession;
  readonly #driver: BrokerDriver;
  readonly #topic: string;

  constructor({ brokers, logger, topic, ...options }: OurMemberOptions) {
    this.#topic = topic;
    this.#driver = kafkajs({ brokers, ...(logger ? { logger } : {}) });
    this.session = this.#driver.consumer({
      topics: [topic],
      sessionTimeoutMs: 6_000,
      heartbeatIntervalMs: 300,
      ...options,
    });
    this.session.onStatus((status) => {
      if ('error' in status) this.troubles.push(status.error);
    });
  }

  get owned(): number[] {
    return ascending(this.session.assignment().map(({ partition }) => partition));
  }

  async start(): Promise<void> {
    const tell =
      (what: string) =>
      (partitions: readonly { partition: number }[]): void =>
        void this.told.push(
          [what, ...ascending(partitions.map((each) => each.partition))].join(' '),
        );
    await this.session.start({
      onAssigned: tell('assigned'),
      onRevoked: tell('revoked'),
      onLost: tell('lost'),
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
      // It went meanwhile: whoever owns it now does it again.
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

/** The numbers behind `what` in all that was told. */
export const numbersOf = (told: readonly string[], what: string): number[] =>
  ascending(
    told
      .filter((line) => line.split(' ')[0] === what)
      .flatMap((line) => line.split(' ').slice(1).map(Number)),
  );
