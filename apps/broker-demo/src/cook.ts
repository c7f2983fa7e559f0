import {
  ClosedError,
  type BrokerDriver,
  type BrokerRecord,
  type ConsumerSession,
  type OffsetCommit,
} from '@nest-event-bus/broker';

/** A member of the group: reads what is in its partitions, writes it down and commits it. */
export class Cook {
  readonly #session: ConsumerSession;
  #working: Promise<void> = Promise.resolve();
  #cooked: BrokerRecord[] = [];

  constructor(
    readonly name: string,
    driver: BrokerDriver,
    group: { readonly groupId: string; readonly topic: string },
  ) {
    this.#session = driver.consumer({
      groupId: group.groupId,
      topics: [group.topic],
      heartbeatIntervalMs: 100,
    });
  }

  async arrive(): Promise<void> {
    const notTold = (): void => undefined;
    await this.#session.start({ onAssigned: notTold, onRevoked: notTold, onLost: notTold });
    this.#working = this.#work();
  }

  get partitions(): readonly number[] {
    const partitions = this.#session.assignment().map(({ partition }) => partition);
    return partitions.sort((a, b) => a - b);
  }

  get cooked(): readonly BrokerRecord[] {
    return this.#cooked;
  }

  clearTheTable(): void {
    this.#cooked = [];
  }

  /** Hands the partitions back to the group. */
  async leave(): Promise<void> {
    await this.#session.close();
    await this.#working;
  }

  async #work(): Promise<void> {
    try {
      for (;;) {
        const records = await this.#session.poll(10);
        await this.#session.commit(offsetsAfter(records));
        this.#cooked.push(...records);
      }
    } catch (error) {
      if (!(error instanceof ClosedError)) throw error;
    }
  }
}

/** A commit names, for each partition, the next offset to read. */
function offsetsAfter(records: readonly BrokerRecord[]): OffsetCommit[] {
  const next = new Map<number, OffsetCommit>();
  for (const { topic, partition, offset, leaderEpoch } of records) {
    next.set(partition, { topic, partition, offset: offset + 1, leaderEpoch });
  }
  return [...next.values()];
}
