import { createInterface } from 'node:readline';
import type { AssignmentListener, ConsumerSession, OffsetCommit } from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
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

/** What was done since the partitions were assigned: of no use to a later assignment. */
interface Stint {
  readonly generation: number;
  readonly done: Map<number, OffsetCommit>;
}

/** A consumer as an application would write it, that tells everything it sees and does. */
class GroupMember implements AssignmentListener {
  readonly #session: ConsumerSession;
  #stint: Stint = { generation: -1, done: new Map() };
  #handling: Promise<void> = Promise.resolve();
  #longRevocationMs = 0;
  #handsBack = true;
  #revoking = false;

  constructor(settings: MemberSettings) {
    const { brokers, topic, groupId } = settings;
    const { sessionTimeoutMs, heartbeatIntervalMs, rebalanceTimeoutMs } = settings;
    this.#session = kafkajs({ brokers, clientId: settings.name }).consumer({
      groupId,
      topics: [topic],
      // Its stints are those of an eager group: all that was assigned at once is handed back at once.
      assignors: ['sticky'],
      sessionTimeoutMs,
      heartbeatIntervalMs,
      rebalanceTimeoutMs,
    });
  }

  async run(): Promise<void> {
    this.#session.onStatus((status) => {
      const error = 'error' in status ? `${status.error.name}: ${status.error.message}` : undefined;
      say({ kind: 'status', state: status.state, error });
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
    this.#stint = { generation, done: new Map() };
    this.#revoking = false;
    const positions = partitions.map(({ partition, position }) => ({
      partition,
      offset: position,
    }));
    say({ kind: 'assigned', generation, memberId, positions });
  }

  async onRevoked(partitions: Parameters<AssignmentListener['onRevoked']>[0]): Promise<void> {
    const stint = this.#stint;
    const { generation } = stint;
    say({ kind: 'revoking', generation, partitions: numbersOf(partitions) });
    this.#revoking = true;
    if (!this.#handsBack) return forEver();
    const delayMs = this.#longRevocationMs;
    this.#longRevocationMs = 0;
    await sleep(realRuntime, delayMs);
    await this.#handling;
    await this.#commit(stint, true);
    say({ kind: 'revoked', generation, partitions: numbersOf(partitions) });
  }

  async onLost(partitions: Parameters<AssignmentListener['onLost']>[0]): Promise<void> {
    const { generation } = this.#stint;
    say({ kind: 'lost', generation, partitions: numbersOf(partitions) });
    if (this.#handsBack) return;
    this.#handsBack = true;
    await forEver();
  }

  async #handleSome(): Promise<void> {
    const records = await this.#session.poll(RECORDS_AT_ONCE);
    const stint = this.#stint;
    this.#handling = (async () => {
      await sleep(realRuntime, realRuntime.random() * SLOWEST_HANDLING_MS);
      const handled = records.map(({ partition, offset, value }) => ({
        partition,
        offset,
        number: Number(value),
      }));
      say({ kind: 'handled', generation: stint.generation, records: handled });
      for (const { topic, partition, offset } of records)
        stint.done.set(partition, { topic, partition, offset: offset + 1 });
    })();
    await this.#handling;
  }

  async #commitNowAndThen(): Promise<void> {
    for (;;) {
      await sleep(realRuntime, COMMIT_EVERY_MS);
      // A commit counts as a heartbeat: in a long revocation the real ones must do.
      if (!this.#revoking) await this.#commit(this.#stint, false);
    }
  }

  async #commit({ generation, done }: Stint, insideRevocation: boolean): Promise<void> {
    const offsets = [...done.values()];
    if (offsets.length === 0) return;
    const startedAt = realRuntime.now();
    try {
      await this.#session.commit(offsets);
      const positions = offsets.map(({ partition, offset }) => ({ partition, offset }));
      say({ kind: 'committed', generation, insideRevocation, startedAt, positions });
    } catch (failure) {
      const { name, message } = failure as Error;
      const error = `${name}: ${message}`;
      say({ kind: 'commit-failed', generation, insideRevocation, error });
    }
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
