import { createInterface } from 'node:readline';
import type { AssignmentListener, ConsumerSession, OffsetCommit } from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { memberships } from './memberships.js';
import {
  numbersOf,
  type MemberOrder,
  type MemberSettings,
  type MemberEventBody,
} from './member-messages.js';

const COMMIT_EVERY_MS = 150;
const SLOWEST_HANDLING_MS = 20;
const RECORDS_AT_ONCE = 50;
const TICK_MS = 50;
const STARVED_AFTER_MS = 200;

/** Writing to a pipe is synchronous, so events survive a kill -9 that follows at once. */
function report(event: MemberEventBody): void {
  process.stdout.write(`${JSON.stringify({ at: realRuntime.now(), ...event })}\n`);
}

/** A partition since `onAssigned`. Its progress must not be used in a later assignment. */
interface OwnedPartition {
  readonly generation: number;
  done: OffsetCommit | undefined;
}

/** A consumer as an application would write it, which reports all its events. */
class GroupMember implements AssignmentListener {
  readonly #session: ConsumerSession;
  readonly #owned = new Map<number, OwnedPartition>();
  readonly #beingRevoked = new Set<number>();
  #handling: Promise<void> = Promise.resolve();
  #longRevocationMs = 0;
  #returnsPartitions = true;

  constructor(settings: MemberSettings) {
    const { brokers, topic, groupId, membership } = settings;
    const { sessionTimeoutMs, heartbeatIntervalMs, rebalanceTimeoutMs } = settings;
    this.#session = kafkajs({ brokers, clientId: settings.name }).consumer({
      groupId,
      topics: [topic],
      sessionTimeoutMs,
      heartbeatIntervalMs,
      rebalanceTimeoutMs,
      ...memberships[membership],
    });
  }

  async run(): Promise<void> {
    this.#session.onStatus((status) => {
      const error = 'error' in status ? `${status.error.name}: ${status.error.message}` : undefined;
      report({ kind: 'status', state: status.state, error });
      if (status.state === 'stable') this.#reportOwnedPartitions();
    });
    await this.#session.start(this);
    void this.#commitNowAndThen();
    for (;;) await this.#handleSome();
  }

  execute(order: MemberOrder): void {
    if (order.order === 'take-long-to-revoke') this.#longRevocationMs = order.milliseconds;
    if (order.order === 'never-hand-back') this.#returnsPartitions = false;
    if (order.order === 'leave') void this.#leave();
    report({ kind: 'obeyed', order: order.order });
  }

  onAssigned(partitions: Parameters<AssignmentListener['onAssigned']>[0]): void {
    const { generation, memberId } = this.#session;
    for (const { partition } of partitions) {
      this.#owned.set(partition, { generation, done: undefined });
      this.#beingRevoked.delete(partition);
    }
    const positions = partitions.map(({ partition, position }) => ({
      partition,
      offset: position,
    }));
    report({ kind: 'assigned', generation, memberId, positions });
  }

  async onRevoked(partitions: Parameters<AssignmentListener['onRevoked']>[0]): Promise<void> {
    const { generation } = this.#session;
    const numbers = numbersOf(partitions);
    const ownedPartitions = new Map(numbers.map((number) => [number, this.#owned.get(number)]));
    report({ kind: 'revoking', generation, partitions: numbers });
    for (const number of numbers) this.#beingRevoked.add(number);
    if (!this.#returnsPartitions) return forEver();
    const delayMs = this.#longRevocationMs;
    this.#longRevocationMs = 0;
    await sleep(realRuntime, delayMs);
    await this.#handling;
    await this.#commit(numbers, true);
    // Excludes partitions that were lost and assigned again in the meantime.
    const returned = numbers.filter((each) => this.#owned.get(each) === ownedPartitions.get(each));
    for (const number of returned) this.#owned.delete(number);
    report({ kind: 'revoked', generation, partitions: returned });
  }

  async onLost(partitions: Parameters<AssignmentListener['onLost']>[0]): Promise<void> {
    const { generation } = this.#session;
    const numbers = numbersOf(partitions);
    for (const number of numbers) this.#owned.delete(number);
    report({ kind: 'lost', generation, partitions: numbers });
    if (this.#returnsPartitions) return;
    this.#returnsPartitions = true;
    await forEver();
  }

  async #handleSome(): Promise<void> {
    const records = await this.#session.poll(RECORDS_AT_ONCE);
    const ownedPartitions = new Map(this.#owned);
    this.#handling = (async () => {
      await sleep(realRuntime, realRuntime.random() * SLOWEST_HANDLING_MS);
      const handled = records.map(({ partition, offset, value }) => ({
        partition,
        offset,
        number: Number(value),
      }));
      report({ kind: 'handled', records: handled });
      for (const { topic, partition, offset } of records) {
        const owned = ownedPartitions.get(partition);
        if (owned) owned.done = { topic, partition, offset: offset + 1 };
      }
    })();
    await this.#handling;
  }

  async #commitNowAndThen(): Promise<void> {
    for (;;) {
      await sleep(realRuntime, COMMIT_EVERY_MS);
      // A commit counts as a heartbeat, so long revocations must rely on real heartbeats.
      const staying = [...this.#owned.keys()].filter((each) => !this.#beingRevoked.has(each));
      await this.#commit(staying, false);
    }
  }

  async #commit(partitions: readonly number[], insideRevocation: boolean): Promise<void> {
    const done = partitions.flatMap((partition) => {
      const owned = this.#owned.get(partition);
      return owned?.done ? { generation: owned.generation, commit: owned.done } : [];
    });
    if (done.length === 0) return;
    const startedAt = realRuntime.now();
    try {
      await this.#session.commit(done.map(({ commit }) => commit));
      for (const generation of new Set(done.map((each) => each.generation))) {
        const positions = done
          .filter((each) => each.generation === generation)
          .map(({ commit: { partition, offset } }) => ({ partition, offset }));
        report({ kind: 'committed', generation, insideRevocation, startedAt, positions });
      }
    } catch (failure) {
      const { name, message } = failure as Error;
      report({ kind: 'commit-failed', insideRevocation, error: `${name}: ${message}` });
    }
  }

  #reportOwnedPartitions(): void {
    const { generation } = this.#session;
    report({ kind: 'owns', generation, partitions: numbersOf(this.#session.assignment()) });
  }

  async #leave(): Promise<void> {
    await this.#session.close();
    report({ kind: 'left' });
    process.exit(0);
  }
}

function forEver(): Promise<never> {
  return new Promise(() => undefined);
}

async function watchForStarvation(): Promise<void> {
  for (;;) {
    const before = realRuntime.monotonic();
    await sleep(realRuntime, TICK_MS);
    const late = realRuntime.monotonic() - before - TICK_MS;
    if (late > STARVED_AFTER_MS) report({ kind: 'starved', milliseconds: Math.round(late) });
  }
}

const member = new GroupMember(JSON.parse(process.argv[2] ?? '') as MemberSettings);
const orders = createInterface({ input: process.stdin });
orders.on('line', (line) => member.execute(JSON.parse(line) as MemberOrder));
// Exits when the test run has ended.
orders.on('close', () => process.exit(0));
void watchForStarvation();
void member.run().catch(({ name, message }: Error) => {
  if (name !== 'ClosedError') report({ kind: 'broke', error: `${name}: ${message}` });
});
