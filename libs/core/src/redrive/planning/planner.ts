import type { AdminSession } from '@nest-event-bus/broker';
import type { ReadLetter } from '../letters/read-letters.js';
import type { LedgerTopics } from '../ledger/ledger-topic.js';
import { readStates } from '../ledger/read-states.js';
import { GroupCounter } from './group-counter.js';
import type { LetterSelection } from './letter-selection.js';
import { scanPartition, type ScanStep } from './partition-scan.js';
import type { PlannedPartition, RedrivePlan } from './redrive-plan.js';
import { SkipCounter } from './skip-counter.js';

export interface PlannerParts {
  readonly admin: Pick<AdminSession, 'readRange' | 'watermarks'>;
  readonly topics: LedgerTopics;
  readonly selection: LetterSelection;
  /** The largest number of letters to select, the oldest first. Undefined selects all. */
  readonly limit: number | undefined;
  readonly signal: AbortSignal | undefined;
}

/** The part of a plan that is found by reading the dead letters. */
export type PlannedLetters = Pick<
  RedrivePlan,
  'partitions' | 'selected' | 'skipped' | 'groups' | 'groupCount'
>;

interface Scan {
  readonly partition: number;
  readonly from: number;
  readonly ledgerEnd: number;
  readonly steps: AsyncGenerator<ScanStep, void>;
  /** The step that was read and not counted yet. */
  step: ScanStep | undefined;
  to: number;
  selected: number;
}

/** Counts what a selection means now, and freezes it as a range of offsets per partition. */
export class Planner {
  readonly #groups = new GroupCounter();
  readonly #skipped = new SkipCounter();

  constructor(private readonly parts: PlannerParts) {}

  async plan(): Promise<PlannedLetters> {
    const scans = await this.#scans();
    try {
      if (this.parts.limit === undefined)
        await Promise.all(scans.map((scan) => this.#countAll(scan)));
      else await this.#countOldest(scans, this.parts.limit);
    } finally {
      await Promise.all(scans.map(({ steps }) => steps.return()));
    }
    return {
      partitions: scans.map(plannedPartition),
      selected: scans.reduce((sum, { selected }) => sum + selected, 0),
      skipped: this.#skipped.counts(),
      groups: this.#groups.largest(),
      groupCount: this.#groups.size,
    };
  }

  async #scans(): Promise<readonly Scan[]> {
    const { admin, topics, selection, signal } = this.parts;
    const marks = await admin.watermarks(topics.deadLetters);
    return Promise.all(
      marks.map(async ({ partition, low, high }) => {
        const states = await readStates(this.parts, partition);
        const range = { topic: topics.deadLetters, partition, from: low, to: high };
        const steps = scanPartition({ admin, ...range, states, selection, signal });
        const ledgerEnd = states.end;
        return { partition, from: low, to: low, selected: 0, ledgerEnd, steps, step: undefined };
      }),
    );
  }

  async #countAll(scan: Scan): Promise<void> {
    while (await this.#look(scan)) this.#count(scan);
  }

  /** Takes the oldest letter of all partitions until the limit is reached. */
  async #countOldest(scans: readonly Scan[], limit: number): Promise<void> {
    for (let selected = 0; selected < limit; selected++) {
      let oldest: { readonly scan: Scan; readonly at: number } | undefined;
      for (const scan of scans) {
        const letter = await this.#look(scan);
        const at = letter?.facts.dltTimestamp ?? Infinity;
        if (letter && (!oldest || at < oldest.at)) oldest = { scan, at };
      }
      if (!oldest) return;
      this.#count(oldest.scan);
    }
  }

  /** Returns the next letter of the partition without counting it; undefined at its end. */
  async #look(scan: Scan): Promise<ReadLetter | undefined> {
    if (scan.step) return scan.step.letter;
    const { value } = await scan.steps.next();
    if (!value) return undefined;
    if (!value.letter) {
      scan.to = value.next;
      this.#skipped.add(value.skipped);
      return undefined;
    }
    scan.step = value;
    return value.letter;
  }

  #count(scan: Scan): void {
    const { step } = scan;
    if (!step?.letter) return;
    this.#skipped.add(step.skipped);
    this.#groups.count(step.letter);
    scan.to = step.next;
    scan.selected++;
    scan.step = undefined;
  }
}

function plannedPartition({ partition, from, to, selected, ledgerEnd }: Scan): PlannedPartition {
  return { partition, from, to, selected, ledgerEnd };
}
