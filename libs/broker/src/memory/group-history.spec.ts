import fc from 'fast-check';
import type { AssignorName, ConsumerSession } from '../port/consumer.js';
import { CommitError } from '../port/errors.js';
import type { TopicPartition } from '../port/record.js';
import { VirtualRuntime } from '../runtime/index.js';
import { MemoryBroker } from './memory-broker.js';
import { memory } from './memory-driver.js';

const PARTITIONS = 4;

/** A process that reads, handles and commits, until it leaves or crashes. */
class Reader {
  readonly #next = new Map<number, number>();
  readonly session: ConsumerSession;
  readonly started: Promise<void>;

  constructor(
    private readonly history: History,
    readonly clientId: string,
    assignor: AssignorName,
  ) {
    this.session = memory({ broker: history.broker, clientId }).consumer({
      groupId: 'g',
      topics: ['t'],
      assignors: [assignor],
      sessionTimeoutMs: 6_000,
      rebalanceTimeoutMs: 10_000,
    });
    this.started = this.session.start({
      onAssigned: (partitions) => this.#forget(partitions),
      onRevoked: (partitions) => this.#commit(partitions),
      onLost: (partitions) => this.#forget(partitions),
    });
    this.started.catch(() => undefined);
    void this.#read();
  }

  #forget(partitions: readonly TopicPartition[]): void {
    for (const { partition } of partitions) this.#next.delete(partition);
  }

  async #read(): Promise<void> {
    try {
      for (;;) {
        const records = await this.session.poll(3);
        for (const { partition, offset } of records) {
          this.history.handled.add(`${partition}:${offset}`);
          this.#next.set(partition, offset + 1);
        }
        await this.#commit(this.session.assignment());
      }
    } catch {
      // The session was closed: the history continues without this reader.
    }
  }

  async #commit(partitions: readonly TopicPartition[]): Promise<void> {
    const offsets = partitions.flatMap((each) => {
      const offset = this.#next.get(each.partition);
      return offset === undefined ? [] : [{ ...each, offset }];
    });
    await this.session.commit(offsets).catch((error: unknown) => {
      if (!(error instanceof CommitError)) throw error;
    });
  }
}

class History {
  readonly runtime: VirtualRuntime;
  readonly broker: MemoryBroker;
  readonly handled = new Set<string>();
  readers: Reader[] = [];
  readonly #written = Array.from({ length: PARTITIONS }, () => 0);
  #names = 0;

  constructor(
    seed: number,
    private readonly assignor: AssignorName,
  ) {
    this.runtime = new VirtualRuntime({ seed });
    const latencyMs = (): number => this.runtime.random() * 20;
    this.broker = new MemoryBroker({ runtime: this.runtime, latencyMs });
    this.broker.cluster.topics.create({ name: 't', partitions: PARTITIONS });
  }

  join(): void {
    const name = `reader-${this.#names++}`;
    this.readers.push(new Reader(this, name, this.assignor));
  }

  leave(): void {
    void this.readers.shift()?.session.close();
  }

  /** Simulates a killed process: no heartbeat, no leave request, no last commit. */
  crash(): void {
    const reader = this.readers.shift();
    if (reader) this.broker.faults.unplug({ clientId: reader.clientId });
  }

  async write(): Promise<void> {
    const driver = memory({ broker: this.broker, clientId: 'writer' });
    const records = Array.from({ length: 8 }, (_, index) => ({
      topic: 't',
      partition: index % PARTITIONS,
      value: 'v',
    }));
    const sending = driver.producer({ lingerMs: 0 }).send(records);
    await this.runtime.advance(100);
    await sending;
    this.#written.forEach((count, partition) => (this.#written[partition] = count + 2));
  }

  async until(what: string, condition: () => boolean): Promise<void> {
    for (let waited = 0; !condition(); waited += 100) {
      if (waited > 120_000) throw new Error(`Two virtual minutes were over before ${what}.`);
      await this.runtime.advance(100);
      this.checkCommits();
    }
  }

  isStable(): boolean {
    const { state, members } = this.broker.cluster.groups.describe('g');
    if (this.readers.length === 0) return state === 'Empty' || state === 'Dead';
    const generations = new Set(this.readers.map(({ session }) => session.generation));
    const allStable = this.readers.every(({ session }) => session.status.state === 'stable');
    const isComplete = state === 'Stable' && members.length === this.readers.length;
    return isComplete && allStable && generations.size === 1;
  }

  /** Asserts that only handled records precede a committed offset. */
  checkCommits(): void {
    for (const { partition, offset } of this.broker.cluster.groups.allCommitted('g'))
      for (let each = 0; each < offset; each++)
        if (!this.handled.has(`${partition}:${each}`))
          throw new Error(`Offset ${offset} was committed, and ${partition}:${each} not handled.`);
  }

  owners(): string[] {
    return this.readers
      .flatMap(({ session }) => session.assignment().map(({ partition }) => String(partition)))
      .sort();
  }

  isAllHandled(): boolean {
    return this.#written.every((count, partition) =>
      Array.from({ length: count }).every((_, offset) =>
        this.handled.has(`${partition}:${offset}`),
      ),
    );
  }
}

const step = fc.constantFrom('join', 'leave', 'crash', 'write', 'wait', 'settle');

describe.each(['range', 'sticky', 'cooperative-sticky'] as const)(
  'any history of a group with %s',
  (assignor) => {
    it('has one owner per partition when it is stable, commits no unhandled record and loses no record', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 1, max: 1_000_000 }),
          fc.array(step, { minLength: 3, maxLength: 14 }),
          async (seed, steps) => {
            const history = new History(seed, assignor);
            for (const each of [...steps, 'settle'] as const) await play(history, each);
            if (history.readers.length === 0) history.join();
            await history.until('all was handled', () => history.isAllHandled());
            await Promise.all(history.readers.map(({ session }) => closed(history, session)));
          },
        ),
        { numRuns: 25 },
      );
    }, 60_000);
  },
);

async function play(
  history: History,
  what: 'join' | 'leave' | 'crash' | 'write' | 'wait' | 'settle',
) {
  if (what === 'wait') await history.runtime.advance(250);
  else if (what === 'settle') {
    await history.until('the group was stable', () => history.isStable());
    const all = Array.from({ length: PARTITIONS }, (_, partition) => String(partition));
    expect(history.owners()).toEqual(history.readers.length > 0 ? all : []);
  } else if (what === 'join' && history.readers.length >= 3) history.leave();
  else await history[what]();
  history.checkCommits();
}

async function closed(history: History, session: ConsumerSession): Promise<void> {
  const closing = session.close();
  await history.runtime.advance(5_000);
  await closing;
}
