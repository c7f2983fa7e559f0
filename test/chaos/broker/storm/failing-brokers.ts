import type { AdminSession } from '@nest-event-bus/broker';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { eventually, type StartedKafka } from '@nest-event-bus/testing';
import type { SeededRandom } from '../support/seeded-random.js';

const IN_SYNC_TIMEOUT_MS = 60_000;

/** Kills and freezes brokers, one at a time; the next incident waits until all replicas are in sync. */
export class FailingBrokers {
  constructor(
    private readonly cluster: StartedKafka,
    private readonly admin: AdminSession,
    private readonly random: SeededRandom,
  ) {}

  /** Kills a broker with SIGKILL and restarts it after a while. */
  async kill(node: number): Promise<void> {
    await this.cluster.kill(node);
    await sleep(realRuntime, this.random.between(500, 3_000));
    await this.cluster.restart(node);
    await this.#untilInSync();
  }

  async freeze(node: number, milliseconds: number): Promise<void> {
    this.cluster.freeze(node);
    await sleep(realRuntime, milliseconds);
    this.cluster.thaw(node);
    await this.#untilInSync();
  }

  async leaderOf(topic: string, partition: number): Promise<number> {
    const found = await eventually(
      async () => {
        const [description] = await this.admin.topics([topic]);
        return description?.partitions.find(
          (each) => each.partition === partition && each.leader >= 0,
        );
      },
      { description: `a leader of ${topic}/${partition}`, timeoutMs: IN_SYNC_TIMEOUT_MS },
    );
    return found.leader;
  }

  async #untilInSync(): Promise<void> {
    await eventually(
      async () =>
        (await this.admin.topics())
          .flatMap(({ partitions }) => partitions)
          .every(({ inSync, replicas }) => inSync.length === replicas.length),
      { description: 'all replicas to be in sync', timeoutMs: IN_SYNC_TIMEOUT_MS, intervalMs: 200 },
    );
  }
}
