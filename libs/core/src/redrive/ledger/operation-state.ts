import type { RedrivePlan } from '../planning/redrive-plan.js';
import { isHeld } from '../pacing/brake-entries.js';
import { OutcomeCounter } from '../outcomes/outcome-counts.js';
import { parseReplayId } from '../outcomes/replay-id.js';
import {
  ledgerKeys,
  type ApprovalEntry,
  type BrakeEntry,
  type CanaryEntry,
  type ControlEntry,
  type ProgressEntry,
  type VerdictEntry,
} from './ledger-entry.js';
import type { StoredEntry } from './read-ledger.js';

/** What the ledger says about one operation. Entries are applied in the order of the ledger. */
export class OperationState {
  plan: RedrivePlan | undefined;
  control: ControlEntry | undefined;
  canary: CanaryEntry | undefined;
  verdict: VerdictEntry | undefined;
  approval: ApprovalEntry | undefined;
  /** The last brake of each node. A node that has died may have left one: see `heldBrakes`. */
  readonly brakes = new Map<string, BrakeEntry>();
  readonly progress = new Map<number, ProgressEntry>();
  readonly outcomes = new OutcomeCounter();

  constructor(readonly id: string) {}

  get isCancelled(): boolean {
    return this.control?.command === 'cancel';
  }

  /** The brakes that hold the operation, on nodes that are alive. */
  heldBrakes(now: number): readonly BrakeEntry[] {
    return [...this.brakes.values()].filter((brake) => isHeld(brake, now));
  }

  /** Takes the progress of a partition, unless a later one is known. */
  advance(partition: number, entry: ProgressEntry): void {
    const known = this.progress.get(partition);
    if (!known || entry.isDone || entry.next >= known.next) this.progress.set(partition, entry);
  }

  apply({ key, entry }: StoredEntry): void {
    switch (entry?.kind) {
      case undefined:
        if (key === ledgerKeys.plan(this.id)) this.plan = undefined;
        if (key.startsWith(ledgerKeys.brake(this.id, ''))) this.brakes.delete(nodeOf(this.id, key));
        if (key.startsWith(ledgerKeys.outcome(this.id))) this.#forgetOutcome(key);
        break;
      case 'plan':
        this.plan = entry.plan;
        break;
      case 'control':
        // After a cancel, no other command counts.
        if (!this.isCancelled) this.control = entry;
        break;
      case 'canary':
        this.canary = entry;
        break;
      case 'verdict':
        // A bad verdict is final.
        if (this.verdict?.verdict !== 'bad') this.verdict = entry;
        break;
      case 'approval':
        this.approval = entry;
        break;
      case 'brake':
        this.brakes.set(nodeOf(this.id, key), entry);
        break;
      case 'progress':
        this.advance(Number(key.slice(ledgerKeys.progress(this.id, 0).length - 1)), entry);
        break;
      case 'outcome': {
        const replay = replayOf(key);
        if (replay) this.outcomes.add(replay, entry);
        break;
      }
      default:
    }
  }

  #forgetOutcome(key: string): void {
    const replay = replayOf(key);
    if (replay) this.outcomes.remove(replay);
  }
}

/** An operation whose plan is in the ledger. */
export type StoredOperation = OperationState & { readonly plan: RedrivePlan };

export const isPlanned = (state: OperationState): state is StoredOperation =>
  state.plan !== undefined;

/** A partition without selected letters has nothing to do, and gets no entry. */
export const isCompleted = ({ plan, progress }: StoredOperation): boolean =>
  plan.partitions.every(
    ({ partition, selected }) => selected === 0 || progress.get(partition)?.isDone === true,
  );

/** Returns whether a verdict is not known yet that depends on the outcome of every replayed letter. */
export function needsOutcomes(operation: StoredOperation): boolean {
  const { approval, canary, isCancelled, verdict } = operation;
  if (!canary || verdict || approval || isCancelled) return false;
  return !isCompleted(operation);
}

const replayOf = (key: string) => parseReplayId(key.slice(ledgerKeys.outcome('').length));

const nodeOf = (operation: string, key: string): string =>
  key.slice(ledgerKeys.brake(operation, '').length);

/** The operation that an entry is about. */
export interface EntryOfOperation {
  readonly operation: string;
  /**
   * True for plans, commands and verdicts. They are written outside of transactions, so that no open
   * transaction has to hide them.
   */
  readonly isCommand: boolean;
}

/** Returns undefined if the entry is about something else. */
export function operationOf({ key, entry }: StoredEntry): EntryOfOperation | undefined {
  const [kind = '', operation] = key.split('/', 2);
  const isOfCommand = COMMANDS.has(kind);
  if (operation === undefined || !(isOfCommand || RESULTS.has(kind))) return undefined;
  if (entry !== undefined && entry.kind !== kind) return undefined;
  return { operation, isCommand: isOfCommand };
}

/** Returns whether the key is that of a plan, a command, a verdict, a brake or an action. */
export function isCommand(key: string): boolean {
  const kind = key.slice(0, key.indexOf('/'));
  return kind === 'action' || COMMANDS.has(kind);
}

const COMMANDS: ReadonlySet<string> = new Set([
  'approval',
  'brake',
  'canary',
  'control',
  'plan',
  'verdict',
]);
const RESULTS: ReadonlySet<string> = new Set(['outcome', 'progress']);
