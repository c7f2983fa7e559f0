import { createInterface } from 'node:readline';
import type { AssignmentListener, ConsumerSession, OffsetCommit } from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { memberships } from './memberships.js';
import { numbersOf, type MemberOrder, type MemberSettings, type Said } from './member-messages.js';

const COMMIT_EVERY_MS = 150;
const SLOWEST_HANDLING_MS = 20;
const RECORDS_AT_ONCE = 50;
const TICK_MS = 50;
const STARVED_AFTER_MS = 200;

/** Writing to a pipe is synchronous: what is said here survives a kill -9 that comes right after it. */
function say(event: Said): void {
  process.stdout.write(`${JSON.stringify({ at: realRuntime.now(), ...event })}\n`);
}

/** A partition from `onAssigned` on. What was done in it is of no use to a later assignment. */
interface Stint {
  readonly generation: number;
  done: OffsetCommit | undefined;
}

/** A consumer as an application would write it, that tells everything it sees and does. */
class GroupMember implements AssignmentListener {
  readonly #session: ConsumerSession;
  readonly #stints = new Map<number, Stint>();
  readonly #beingRevoked = new Set<number>();
  #handling: Promise<void> = Promise.resolve();
  #longRevocationMs = 0;
  #handsBack = true;

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
      say({ kind: 'status', state: status.state, error });
      if (status.state === 'stable') this.#sayWhatItOwns();
    });
    await this.#session.start(this);
    void this.#commitNowAndThen();
    for (;;) await this.#handleSome();
  }

  obey(order: MemberOrder): void {
    if (order.order === 'take-long-to-revoke') this.#longRevocationMs = order.milliseconds;
    if (order.order === 'never-hand-back') this.#handsBack = false;
    if (order.order === 'leave') void this.#leave();
    say({ kind: 'obeyed', order: order.order });
  }

  onAssigned(partitions: Parameters<AssignmentListener['onAssigned']>[0]): void {
    const { generation, memberId } = this.#session;
    for (const { partition } of partitions) {
      this.#stints.set(partition, { generation, done: undefined });
      this.#beingRevoked.delete(partition);
    }
    const positions = partitions.map(({ partition, position }) => ({
      partition,
      offset: position,
    }));
    say({ kind: 'assigned', generation, memberId, positions });
  }

  async onRevoked(partitions: Parameters<AssignmentListener['onRevoked']>[0]): Promise<void> {
    const { generation } = this.#session;
    const numbers = numbersOf(partitions);
    const stints = new Map(numbers.map((number) => [number, this.#stints.get(number)]));
    say({ kind: 'revoking', generation, partitions: numbers });
    for (const number of numbers) this.#beingRevoked.add(number);
    if (!this.#handsBack) return forEver();
    const delayMs = this.#longRevocationMs;
    this.#longRevocationMs = 0;
    await sleep(realRuntime, delayMs);
    await this.#handling;
    await this.#commit(numbers, true);
    // It may have been lost and assigned again meanwhile.
    const handedBack = numbers.filter((each) => this.#stints.get(each) === stints.get(each));
    for (const number of handedBack) this.#stints.delete(number);
    say({ kind: 'revoked', generation, partitions: handedBack });
  }

  async onLost(partitions: Parameters<AssignmentListener['onLost']>[0]): Promise<void> {
    const { generation } = this.#session;
    const numbers = numbersOf(partitions);
    for (const number of numbers) this.#stints.delete(number);
    say({ kind: 'lost', generation, partitions: numbers });
    if (this.#handsBack) return;
    this.#handsBack = true;
    await forEver();
  }

  async #handleSome(): Promise<void> {
    const records = await this.#session.poll(RECORDS_AT_ONCE);
    const stints = new Map(this.#stints);
    this.#handling = (async () => {
      await sleep(realRuntime, realRuntime.random() * SLOWEST_HANDLING_MS);
      const handled = records.map(({ partition, offset, value }) => ({
        partition,
        offset,
        number: Number(value),
      }));
      say({ kind: 'handled', records: handled });
      for (const { topic, partition, offset } of records) {
        const stint = stints.get(partition);
        if (stint) stint.done = { topic, partition, offset: offset + 1 };
      }
    })();
    await this.#handling;
  }

  async #commitNowAndThen(): Promise<void> {
    for (;;) {
      await sleep(realRuntime, COMMIT_EVERY_MS);
      // A commit counts as a heartbeat: in a long revocation the real ones must do.
      const staying = [...this.#stints.keys()].filter((each) => !this.#beingRevoked.has(each));
      await this.#commit(staying, false);
    }
  }

  async #commit(partitions: readonly number[], insideRevocation: boolean): Promise<void> {
    const done = partitions.flatMap((partition) => {
      const stint = this.#stints.get(partition);
      return stint?.done ? { generation: stint.generation, commit: stint.done } : [];
    });
    if (done.length === 0) return;
    const startedAt = realRuntime.now();
    try {
      await this.#session.commit(done.map(({ commit }) => commit));
      for (const generation of new Set(done.map((each) => each.generation))) {
        const positions = done
          .filter((each) => each.generation === generation)
          .map(({ commit: { partition, offset } }) => ({ partition, offset }));
        say({ kind: 'committed', generation, insideRevocation, startedAt, positions });
      }
    } catch (failure) {
      const { name, message } = failure as Error;
      say({ kind: 'commit-failed', insideRevocation, error: `${name}: ${message}` });
    }
  }

  #sayWhatItOwns(): void {
    const { generation } = this.#session;
    say({ kind: 'owns', generation, partitions: numbersOf(this.#session.assignment()) });
  }

  async #leave(): Promise<void> {
    await this.#session.close();
    say({ kind: 'left' });
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
    if (late > STARVED_AFTER_MS) say({ kind: 'starved', milliseconds: Math.round(late) });
  }
}

const member = new GroupMember(JSON.parse(process.argv[2] ?? '') as MemberSettings);
const orders = createInterface({ input: process.stdin });
orders.on('line', (line) => member.obey(JSON.parse(line) as MemberOrder));
// Nobody listens any more: the test run is gone.
orders.on('close', () => process.exit(0));
void watchForStarvation();
void member.run().catch(({ name, message }: Error) => {
  if (name !== 'ClosedError') say({ kind: 'broke', error: `${name}: ${message}` });
});
