import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { Child } from './children/child-process.js';
import {
  type UncommittedWork,
  ProcessJournal,
  type RecordPosition,
  AcknowledgedCommits,
} from './process-journal.js';
import { OrdersTestBus } from './orders-test-bus.js';

export type KilledMode = 'MANUAL' | 'MANUAL_IMMEDIATE' | 'BATCH' | 'by key';

export interface KilledConsumerSettings {
  readonly brokers: readonly string[];
  readonly mode: KilledMode;
  /** Minimum number of records. They are written between the kills. */
  readonly records: number;
  readonly kills: number;
  readonly random: { between(least: number, most: number): number };
}

/** Effects of one kill. */
export interface Kill {
  /** Records that were started and are in no acknowledged commit. They may be delivered again. */
  readonly mayBeRedelivered: number;
  /** Records that the next process started again. */
  readonly redelivered: number;
  /** Records that were started again although an acknowledged commit contains them. */
  readonly redeliveredThoughCommitted: readonly RecordPosition[];
  /** Uncommitted records that the killed process itself had started, by partition. */
  readonly uncommittedWork: readonly UncommittedWork[];
}

export interface KilledConsumerReport {
  readonly mode: KilledMode;
  readonly written: number;
  /** Kills of processes that had opened their journal. */
  readonly kills: readonly Kill[];
  readonly lost: readonly RecordPosition[];
}

const PROGRAM = join(__dirname, 'children/journaled-orders.ts');
const PARTITIONS = 24;
const KEYS = 2_000;
const SLICE = 50;
const MAX_CONCURRENCY = 200;
const CATCH_UP_TIMEOUT_MS = 300_000;
/**
 * One of this many processes, chosen at random, is killed at a random time, possibly while it joins
 * the group.
 */
const KILLED_EARLY = 5;
const LONGEST_START_MS = 3_000;

interface Work {
  readonly binding: object;
  readonly takesSlices: boolean;
  readonly workMs: number;
  /** Maximum number of records of one partition that are started and not finished. */
  readonly mostRunning: number;
  /**
   * Maximum number of records of one partition that are finished while no commit is pending. These
   * are the records of the current slice, or the record whose handler has written to the journal
   * but has not returned yet.
   */
  readonly mostUncommitted: number;
}

const WORK: Readonly<Record<KilledMode, Work>> = {
  MANUAL: {
    binding: { ackMode: 'MANUAL', maxPollRecords: SLICE },
    takesSlices: false,
    workMs: 10,
    mostRunning: 1,
    mostUncommitted: SLICE,
  },
  MANUAL_IMMEDIATE: {
    binding: { ackMode: 'MANUAL_IMMEDIATE', maxPollRecords: SLICE },
    takesSlices: false,
    workMs: 10,
    mostRunning: 1,
    mostUncommitted: 1,
  },
  BATCH: {
    binding: { listenerType: 'BATCH', ackMode: 'MANUAL', maxPollRecords: SLICE },
    takesSlices: true,
    workMs: 240,
    mostRunning: SLICE,
    mostUncommitted: SLICE,
  },
  'by key': {
    binding: { processing: { by: 'key', maxConcurrency: MAX_CONCURRENCY } },
    takesSlices: false,
    workMs: 150,
    mostRunning: MAX_CONCURRENCY,
    mostUncommitted: 1,
  },
};

/**
 * A consumer in a process of its own, which is killed many times. It reports which records were
 * lost or delivered again.
 */
export class KilledConsumer {
  readonly #testBus: OrdersTestBus;
  readonly #folder = mkdtempSync(join(tmpdir(), 'killed-consumer-'));
  readonly #journals: string[] = [];
  #child: Child | undefined;

  constructor(private readonly settings: KilledConsumerSettings) {
    this.#testBus = new OrdersTestBus(settings.brokers);
  }

  async run(): Promise<KilledConsumerReport> {
    try {
      return await this.#run();
    } finally {
      await this.#kill();
      await this.#testBus.end();
      rmSync(this.#folder, { recursive: true, force: true });
    }
  }

  async #run(): Promise<KilledConsumerReport> {
    const { mode, records, kills, random } = this.settings;
    const perPartition = Math.ceil(records / kills / PARTITIONS);
    // Half of the records are not started before the kill, so that the kill interrupts running
    // handlers even if the test reacts late.
    const mostStarted = Math.ceil((perPartition * PARTITIONS) / 2);
    await this.#testBus.createTopics({ partitions: PARTITIONS });
    for (let kill = 0; kill < kills; kill++) {
      await this.#write(perPartition);
      this.#start();
      if (kill > 0 && random.between(1, KILLED_EARLY) === 1)
        await sleep(realRuntime, random.between(0, LONGEST_START_MS));
      else await this.#hasStarted(random.between(1, mostStarted));
      await this.#kill();
    }
    this.#start();
    await this.#testBus.until(
      'all records to be committed',
      () => this.#isCommitted(perPartition * kills),
      CATCH_UP_TIMEOUT_MS,
    );
    await this.#kill();
    return {
      mode,
      written: perPartition * kills * PARTITIONS,
      ...this.#review(perPartition * kills),
    };
  }

  async #write(perPartition: number): Promise<void> {
    const keys = Array.from({ length: perPartition }, (_, index) => `key-${index % KEYS}`);
    for (let partition = 0; partition < PARTITIONS; partition++)
      await this.#testBus.writeKeysTo(partition, keys);
  }

  #start(): void {
    const { brokers, mode } = this.settings;
    const { topic, groupId } = this.#testBus;
    const { binding, ...work } = WORK[mode];
    const journal = join(this.#folder, `${this.#journals.length}`);
    const session = { sessionTimeoutMs: 3_000, heartbeatIntervalMs: 300, pollTimeoutMs: 250 };
    const settings = {
      brokers,
      journal,
      binding: { topic, groupId, ...session, ...binding },
      ...work,
    };
    this.#journals.push(journal);
    this.#child = new Child(PROGRAM, { args: [JSON.stringify(settings)] });
  }

  async #kill(): Promise<void> {
    this.#child?.kill();
    await this.#child?.ended;
    this.#child = undefined;
  }

  /** Waits until the running process has started this many records. */
  #hasStarted(records: number): Promise<unknown> {
    const journal = this.#journals.at(-1) as string;
    return this.#testBus.until(
      `the process to have started ${records} records`,
      () => {
        if (this.#child?.stderr) throw new Error(this.#child.stderr);
        if (!statSync(journal, { throwIfNoEntry: false })) return false;
        return readFileSync(journal, 'utf8').split('began ').length > records;
      },
      60_000,
    );
  }

  /**
   * Returns true if all records are committed. Otherwise throws an error with the committed
   * offsets.
   */
  async #isCommitted(end: number): Promise<true> {
    const { admin, groupId } = this.#testBus;
    const offsets = (await admin.groupOffsets(groupId)).map(({ offset }) => offset);
    if (offsets.length === PARTITIONS && offsets.every((offset) => offset === end)) return true;
    const { state, members } = await admin.describeGroup(groupId);
    throw new Error(
      `The group, ${state} with ${members.length} members, has committed ${offsets.join(', ')} of ${end} each. ${this.#child?.stderr}`,
    );
  }

  #review(end: number): Pick<KilledConsumerReport, 'kills' | 'lost'> {
    const kills: Kill[] = [];
    const [started, done] = [new Set<RecordPosition>(), new Set<RecordPosition>()];
    let acknowledged = new AcknowledgedCommits();
    let killed: ProcessJournal | undefined;
    for (const journal of this.#journals) {
      if (!statSync(journal, { throwIfNoEntry: false })) continue;
      const next = new ProcessJournal(journal);
      if (killed) kills.push(killBetween(killed, next, started, acknowledged));
      for (const position of next.started) started.add(position);
      for (const position of next.done) done.add(position);
      acknowledged = next.commitsAfter(acknowledged);
      killed = next;
    }
    const all = Array.from({ length: end * PARTITIONS }, (_, index) => {
      return `${index % PARTITIONS}/${Math.floor(index / PARTITIONS)}`;
    });
    return { kills, lost: all.filter((position) => !done.has(position)) };
  }
}

function killBetween(
  killed: ProcessJournal,
  next: ProcessJournal,
  started: ReadonlySet<RecordPosition>,
  acknowledged: AcknowledgedCommits,
): Kill {
  const redelivered = [...next.started].filter((position) => started.has(position));
  return {
    mayBeRedelivered: [...started].filter((position) => !acknowledged.has(position)).length,
    redelivered: redelivered.length,
    redeliveredThoughCommitted: redelivered.filter((position) => acknowledged.has(position)),
    uncommittedWork: killed.uncommittedWork(acknowledged),
  };
}

/**
 * Expects that no record is lost, and that only records without an acknowledged commit are
 * delivered again.
 */
export function expectWithinBounds({ mode, kills, lost }: KilledConsumerReport): void {
  expect(lost).toEqual([]);
  expect(kills.flatMap(({ redeliveredThoughCommitted }) => redeliveredThoughCommitted)).toEqual([]);
  const { mostRunning, mostUncommitted } = WORK[mode];
  for (const { uncommittedWork } of kills)
    for (const work of uncommittedWork) {
      const { running, uncommitted, commitPending } = work;
      // Records that were finished while a commit was pending wait for the next commit, so they are
      // allowed in addition.
      const isWithin = running <= mostRunning && uncommitted <= mostUncommitted + commitPending;
      expect({ ...work, isWithin }).toMatchObject({ isWithin: true });
    }
  // Most kills must interrupt a running handler, because other kills would prove nothing.
  expect(duringHandlers(kills)).toBeGreaterThanOrEqual(Math.max(1, Math.floor(kills.length / 2)));
}

/** Returns the number of kills that interrupted running handlers. */
function duringHandlers(kills: readonly Kill[]): number {
  return kills.filter(({ uncommittedWork }) =>
    uncommittedWork.some(({ running, uncommitted }) => running + uncommitted > 0),
  ).length;
}

export function printKills({ mode, written, kills }: KilledConsumerReport): string {
  const redelivered = kills.map((each) => each.redelivered);
  const mayBeRedelivered = kills.map((each) => each.mayBeRedelivered);
  const sum = (of: readonly number[]): number => of.reduce((total, each) => total + each, 0);
  const mean = (sum(redelivered) / kills.length).toFixed(1);
  return `${mode}: ${written} records through ${kills.length} kills, ${duringHandlers(kills)} of them during handlers: none lost, ${sum(redelivered)} delivered again, ${mean} per kill, at most ${Math.max(...redelivered)} where ${Math.max(...mayBeRedelivered)} may have been (${sum(mayBeRedelivered)} in all)`;
}
