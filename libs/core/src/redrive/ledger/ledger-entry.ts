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

export interface PlanEntry {
  readonly kind: 'plan';
  readonly plan: RedrivePlan;
}

/** A decision of an operator about many letters that is no replay. */
export interface ActionEntry {
  readonly kind: 'action';
  readonly id: string;
  readonly action: 'mark-permanently-failed' | 'reopen' | 'purge';
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

export type LedgerEntry =
  ActionEntry | LetterEntry | ProgressEntry | ControlEntry | OwnerEntry | PlanEntry;

/** Version of the format. Entries of a newer version are refused instead of misread. */
const VERSION = 1;

/** The keys of the ledger. Compaction keeps the last entry of each key. */
export const ledgerKeys = {
  action: (id: string): string => `action/${id}`,
  plan: (operation: string): string => `plan/${operation}`,
  /** A cancel has a key of its own, so that compaction never keeps a later `run` in its place. */
  control: (operation: string, command: ControlEntry['command']): string =>
    command === 'cancel' ? `control/${operation}/cancel` : `control/${operation}`,
  owner: (partition: number): string => `owner/${partition}`,
  progress: (operation: string, partition: number): string => `progress/${operation}/${partition}`,
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
  if (entry.version === VERSION) return entry as LedgerEntry;
  if (typeof entry.version === 'number' && entry.version > VERSION)
    throw new Error(
      `The ledger has an entry of version ${entry.version}, and this library knows version ${VERSION}. Upgrade this application before it redrives dead letters.`,
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
