import { ownError } from '@nest-event-bus/broker';
import type { ReplayResult } from '../../model/outcomes/replay-outcomes.js';
import type { CanaryContinuation } from '../canary/canary-options.js';
import type { CanaryFigures, VerdictReason } from '../canary/canary-verdict.js';
import type { Brake } from '../pacing/brake.js';
import type { RedrivePlan } from '../planning/redrive-plan.js';

/** What became of a dead letter. A letter without an entry is open. */
export type LetterStatus = 'open' | 'replayed' | 'permanently-failed';

/** The last decision about one dead letter. */
export interface LetterEntry {
  readonly kind: 'letter';
  readonly status: LetterStatus;
  readonly at: number;
  readonly by: string;
  /** The operation that replayed the letter. */
  readonly operation?: string;
  readonly replayId?: string;
  /** The topic to which it was replayed. */
  readonly to?: string;
  /** The reason that an operator gave. */
  readonly reason?: string;
  /** How often this letter was replayed; more than once only after it was reopened. */
  readonly times: number;
  /**
   * The entry that this one replaced, with its offset in the ledger. Compaction removes that entry,
   * and a plan that was made between both needs it.
   */
  readonly supersedes?: { readonly status: LetterStatus; readonly ledgerOffset: number };
  /** The entries before `supersedes`, the latest first. Absent in entries of older versions. */
  readonly earlier?: readonly { readonly status: LetterStatus; readonly ledgerOffset: number }[];
  /** Digests of key and value, if the replayed record was edited. */
  readonly edited?: { readonly digestBefore: string; readonly digestAfter: string };
}

/**
 * The replay of many letters, which nobody had decided about before, in one transaction. Ranges are
 * pairs: an offset, and how many letters follow one another from there.
 */
export interface ReplayedEntry {
  readonly kind: 'replayed';
  readonly ranges: readonly (readonly [from: number, count: number])[];
  readonly at: number;
  readonly by: string;
  readonly operation: string;
  readonly to: string;
}

/** The progress of an operation in one partition of the dead-letter topic. */
export interface ProgressEntry {
  readonly kind: 'progress';
  /** The offset of the first letter that is not decided. */
  readonly next: number;
  readonly replayed: number;
  readonly skipped: Readonly<Record<string, number>>;
  readonly failed: number;
  readonly isDone: boolean;
  readonly at: number;
}

/** A command of an operator to an operation. After a cancel, no other command counts. */
export interface ControlEntry {
  readonly kind: 'control';
  readonly command: 'run' | 'cancel';
  readonly by: string;
  readonly at: number;
}

/** The operation and node that claimed a partition last. */
export interface OwnerEntry {
  readonly kind: 'owner';
  readonly operation: string;
  /** True if the owner has finished, so that a fenced node need not wait. */
  readonly isReleased: boolean;
  readonly node: string;
  /** Different for each claim, so that the claim recognises its own entry. */
  readonly claim: string;
  readonly at: number;
}

/** A purge that deletes the letters before `end`. Present from before the deletion until after it. */
export interface PurgeEntry {
  readonly kind: 'purge';
  readonly end: number;
  readonly at: number;
}

export interface PlanEntry {
  readonly kind: 'plan';
  readonly plan: RedrivePlan;
}

/** A decision of an operator about many letters that is no replay. */
export interface ActionEntry {
  readonly kind: 'action';
  readonly id: string;
  readonly action: 'mark-permanently-failed' | 'reopen' | 'purge' | 'edit-and-replay';
  readonly binding: string;
  readonly groupId: string;
  readonly by: string;
  readonly reason?: string;
  /** What the operator has asked for. */
  readonly request: Readonly<Record<string, unknown>>;
  readonly at: number;
  /** Absent while the action runs, and if its process has died. */
  readonly result?: Readonly<Record<string, unknown>>;
}

/**
 * How the replay of a letter ended. Written by the process that ended the record, before it commits
 * the record's offset. So an outcome may be written twice, and a crash never leaves a wrong one.
 */
export interface OutcomeEntry {
  readonly kind: 'outcome';
  readonly result: ReplayResult;
  /** The tier in which the record ended; 0 is the main topic. */
  readonly tier: number;
  /** Why it was discarded, or the cause of the new dead letter. */
  readonly reason?: string;
  readonly node: string;
  readonly at: number;
}

/** How many letters are replayed first, and what follows. Written by the first run. */
export interface CanaryEntry {
  readonly kind: 'canary';
  readonly letters: number;
  readonly continue: CanaryContinuation;
  readonly undecidedForMs?: number;
  readonly by: string;
  readonly at: number;
}

/** The verdict about a canary. A bad one is final. */
export interface VerdictEntry extends CanaryFigures {
  readonly kind: 'verdict';
  readonly verdict: 'good' | 'bad';
  readonly reason?: VerdictReason;
  readonly node: string;
  readonly at: number;
}

/** The word of an operator that the rest may follow the canary. */
export interface ApprovalEntry {
  readonly kind: 'approval';
  readonly by: string;
  readonly reason?: string;
  readonly at: number;
}

/** Says that an operation has paused itself on a node. Deleted when it goes on. */
export interface BrakeEntry extends Brake {
  readonly kind: 'brake';
  readonly node: string;
  readonly at: number;
  /** When the node has written it last. Absent in entries of older versions. */
  readonly confirmedAt?: number;
}

export type LedgerEntry =
  | ApprovalEntry
  | BrakeEntry
  | CanaryEntry
  | VerdictEntry
  | ActionEntry
  | LetterEntry
  | OutcomeEntry
  | ProgressEntry
  | ControlEntry
  | OwnerEntry
  | PlanEntry
  | PurgeEntry
  | ReplayedEntry;

/** Version of the format. Entries of a newer version are refused instead of misread. */
const VERSION = 2;
/** The same format without entries about many letters. */
const OLDER_VERSION = 1;

/** The keys of the ledger. Compaction keeps the last entry of each key. */
export const ledgerKeys = {
  action: (id: string): string => `action/${id}`,
  approval: (operation: string): string => `approval/${operation}`,
  brake: (operation: string, node: string): string => `brake/${operation}/${node}`,
  canary: (operation: string): string => `canary/${operation}`,
  /** A bad verdict has a key of its own, so that compaction never keeps a good one in its place. */
  verdict: (operation: string, verdict: VerdictEntry['verdict']): string =>
    `verdict/${operation}/${verdict}`,
  plan: (operation: string): string => `plan/${operation}`,
  /** A cancel has a key of its own, so that compaction never keeps a later `run` in its place. */
  control: (operation: string, command: ControlEntry['command']): string =>
    command === 'cancel' ? `control/${operation}/cancel` : `control/${operation}`,
  /** The replay id names the operation, and the partition and offset of the letter. */
  outcome: (replayId: string): string => `outcome/${replayId}`,
  owner: (partition: number): string => `owner/${partition}`,
  purge: (topicId: string, partition: number): string => `purge/${topicId}/${partition}`,
  progress: (operation: string, partition: number): string => `progress/${operation}/${partition}`,
  /** The offset is that of the first letter. */
  replayed: (topicId: string, partition: number, offset: number): string =>
    `replayed/${topicId}/${partition}/${offset}`,
  letter: (topicId: string, partition: number, offset: number): string =>
    `letter/${topicId}/${partition}/${offset}`,
};

export function encodeEntry(entry: LedgerEntry): string {
  return JSON.stringify({ version: VERSION, ...entry });
}

/** Returns undefined for a value that is no entry, which only another writer can have written. */
export function decodeEntry(value: Buffer | null): LedgerEntry | undefined {
  if (value === null) return undefined;
  const entry = parsed(value);
  if (entry === undefined) return undefined;
  if (entry.version === VERSION || entry.version === OLDER_VERSION) return entry as LedgerEntry;
  if (typeof entry.version === 'number' && entry.version > VERSION)
    throw ownError(
      new Error(
        `The ledger has an entry of version ${entry.version}, and this library knows version ${VERSION}. Upgrade this application before it redrives dead letters.`,
      ),
    );
  return undefined;
}

function parsed(value: Buffer): { readonly version?: unknown } | undefined {
  try {
    const entry: unknown = JSON.parse(value.toString('utf8'));
    return typeof entry === 'object' && entry !== null ? entry : undefined;
  } catch {
    return undefined;
  }
}
