import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { Child } from './children/child-process.js';
import { type Exposure, JournalOfLife, type Place, Recordings } from './journal-of-life.js';
import { OrdersStage } from './orders-stage.js';

export type KilledMode = 'MANUAL' | 'MANUAL_IMMEDIATE' | 'BATCH' | 'by key';

export interface KilledConsumerSettings {
  readonly brokers: readonly string[];
  readonly mode: KilledMode;
  /** At least so many; they are written between the kills. */
  readonly records: number;
  readonly kills: number;
  readonly random: { between(least: number, most: number): number };
}

/** What one kill did. */
export interface Kill {
  /** Begun, and not in an acknowledged commit: they may come again. */
  readonly exposed: number;
  /** Those that came again, in the next process. */
  readonly again: number;
  /** Came again although an acknowledged commit says that they are done. */
  readonly broken: readonly Place[];
  /** Of what the killed process itself had begun, by partition. */
  readonly exposures: readonly Exposure[];
}

export interface KilledConsumerReport {
  readonly mode: KilledMode;
  readonly written: number;
  /** Of processes that had come so far as to open their journal. */
  readonly kills: readonly Kill[];
  readonly lost: readonly Place[];
}

const PROGRAM = join(__dirname, 'children/journaled-orders.ts');
const PARTITIONS = 24;
const KEYS = 2_000;
const SLICE = 50;
const MOST_AT_WORK = 200;
const PATIENCE_MS = 300_000;
/** One process in so many is killed wherever it is, also on its way into the group. */
const KILLED_EARLY = 5;
const LONGEST_START_MS = 3_000;

interface Work {
  readonly binding: object;
  readonly takesSlices: boolean;
  readonly workMs: number;
  /** How many of a partition may have been begun and not be done. */
  readonly mostRunning: number;
  /**
   * How many of a partition may be done with no commit under way: those of the slice that is open, or
   * the one of which the handler has just told the journal, but not yet the library.
   */
  readonly mostUnsaved: number;
}

const WORK: Readonly<Record<KilledMode, Work>> = {
  MANUAL: {
    binding: { ackMode: 'MANUAL', maxPollRecords: SLICE },
    takesSlices: false,
    workMs: 10,
    mostRunning: 1,
    mostUnsaved: SLICE,
  },
  MANUAL_IMMEDIATE: {
    binding: { ackMode: 'MANUAL_IMMEDIATE', maxPollRecords: SLICE },
    takesSlices: false,
    workMs: 10,
    mostRunning: 1,
    mostUnsaved: 1,
  },
  BATCH: {
    binding: { listenerType: 'BATCH', ackMode: 'MANUAL', maxPollRecords: SLICE },
    takesSlices: true,
    workMs: 240,
    mostRunning: SLICE,
    mostUnsaved: SLICE,
  },
  'by key': {
    binding: { processing: { by: 'key', maxConcurrency: MOST_AT_WORK } },
    takesSlices: false,
    workMs: 150,
    mostRunning: MOST_AT_WORK,
    mostUnsaved: 1,
  },
};

/** A consumer of its own process, which is killed again and again, and what becomes of the records. */
export class KilledConsumer {
  readonly #stage: OrdersStage;
  readonly #folder = mkdtempSync(join(tmpdir(), 'killed-consumer-'));
  readonly #journals: string[] = [];
  #child: Child | undefined;

  constructor(private readonly settings: KilledConsumerSettings) {
    this.#stage = new OrdersStage(settings.brokers);
  }

  async run(): Promise<KilledConsumerReport> {
    try {
      return await this.#run();
    } finally {
      await this.#kill();
      await this.#stage.end();
      rmSync(this.#folder, { recursive: true, force: true });
    }
  }

  async #run(): Promise<KilledConsumerReport> {
    const { mode, records, kills, random } = this.settings;
    const perPartition = Math.ceil(records / kills / PARTITIONS);
    // With as many left to do: however slow we look, the kill meets it at work.
    const mostBegun = Math.ceil((perPartition * PARTITIONS) / 2);
    await this.#stage.createTopics({ partitions: PARTITIONS });
    for (let kill = 0; kill < kills; kill++) {
      await this.#write(perPartition);
      this.#start();
      if (kill > 0 && random.between(1, KILLED_EARLY) === 1)
        await sleep(realRuntime, random.between(0, LONGEST_START_MS));
      else await this.#hasBegun(random.between(1, mostBegun));
      await this.#kill();
    }
    this.#start();
    await this.#stage.until(
      'all records to be committed',
      () => this.#isCommitted(perPartition * kills),
      PATIENCE_MS,
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
      await this.#stage.writeKeysTo(partition, keys);
  }

  #start(): void {
    const { brokers, mode } = this.settings;
    const { topic, groupId } = this.#stage;
    const { binding, ...work } = WORK[mode];
    const journal = join(this.#folder, `${this.#journals.length}`);
    const session = { sessionTimeoutMs: 1_000, heartbeatIntervalMs: 300, pollTimeoutMs: 250 };
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

  /** The process that runs, so many records. */
  #hasBegun(records: number): Promise<unknown> {
    const journal = this.#journals.at(-1) as string;
    return this.#stage.until(
      `the process to have begun ${records} records`,
      () => {
        if (this.#child?.stderr) throw new Error(this.#child.stderr);
        if (!statSync(journal, { throwIfNoEntry: false })) return false;
        return readFileSync(journal, 'utf8').split('began ').length > records;
      },
      60_000,
    );
  }

  /** Throws with what is there instead. */
  async #isCommitted(end: number): Promise<true> {
    const { admin, groupId } = this.#stage;
    const offsets = (await admin.groupOffsets(groupId)).map(({ offset }) => offset);
    if (offsets.length === PARTITIONS && offsets.every((offset) => offset === end)) return true;
    const { state, members } = await admin.describeGroup(groupId);
    throw new Error(
      `The group, ${state} with ${members.length} members, has committed ${offsets.join(', ')} of ${end} each. ${this.#child?.stderr}`,
    );
  }

  #review(end: number): Pick<KilledConsumerReport, 'kills' | 'lost'> {
    const kills: Kill[] = [];
    const [begun, done] = [new Set<Place>(), new Set<Place>()];
    let recorded = new Recordings();
    let life: JournalOfLife | undefined;
    for (const journal of this.#journals) {
      if (!statSync(journal, { throwIfNoEntry: false })) continue;
      const next = new JournalOfLife(journal);
      if (life) kills.push(killBetween(life, next, begun, recorded));
      for (const place of next.begun) begun.add(place);
      for (const place of next.done) done.add(place);
      recorded = next.recordedAfter(recorded);
      life = next;
    }
    const all = Array.from({ length: end * PARTITIONS }, (_, index) => {
      return `${index % PARTITIONS}/${Math.floor(index / PARTITIONS)}`;
    });
    return { kills, lost: all.filter((place) => !done.has(place)) };
  }
}

function killBetween(
  killed: JournalOfLife,
  next: JournalOfLife,
  begun: ReadonlySet<Place>,
  recorded: Recordings,
): Kill {
  const again = [...next.begun].filter((place) => begun.has(place));
  return {
    exposed: [...begun].filter((place) => !recorded.has(place)).length,
    again: again.length,
    broken: again.filter((place) => recorded.has(place)),
    exposures: killed.exposures(recorded),
  };
}

/** None is lost, and what came again could not be known to be done. */
export function expectWithinBounds({ mode, kills, lost }: KilledConsumerReport): void {
  expect(lost).toEqual([]);
  expect(kills.flatMap(({ broken }) => broken)).toEqual([]);
  const { mostRunning, mostUnsaved } = WORK[mode];
  for (const { exposures } of kills)
    for (const exposure of exposures) {
      const { running, unsaved, underWay } = exposure;
      // What is done while a commit is under way waits for the next one.
      const isWithin = running <= mostRunning && unsaved <= mostUnsaved + underWay;
      expect({ ...exposure, isWithin }).toMatchObject({ isWithin: true });
    }
  // Kills that met nobody at work would prove nothing.
  expect(atWork(kills)).toBeGreaterThanOrEqual(Math.max(1, Math.floor(kills.length / 2)));
}

/** How many of them. */
function atWork(kills: readonly Kill[]): number {
  return kills.filter(({ exposures }) =>
    exposures.some(({ running, unsaved }) => running + unsaved > 0),
  ).length;
}

export function tell({ mode, written, kills }: KilledConsumerReport): string {
  const again = kills.map((each) => each.again);
  const exposed = kills.map((each) => each.exposed);
  const sum = (of: readonly number[]): number => of.reduce((total, each) => total + each, 0);
  const mean = (sum(again) / kills.length).toFixed(1);
  return `${mode}: ${written} records through ${kills.length} kills, ${atWork(kills)} of them at work: none lost, ${sum(again)} came again, ${mean} per kill, at most ${Math.max(...again)} where ${Math.max(...exposed)} might have (${sum(exposed)} in all)`;
}
