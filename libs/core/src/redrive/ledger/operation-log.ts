import type { AdminSession, ProducerSession } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { RedrivePlan } from '../planning/redrive-plan.js';
import {
  encodeEntry,
  type ActionEntry,
  ledgerKeys,
  type ControlEntry,
  type LedgerEntry,
  type ProgressEntry,
} from './ledger-entry.js';
import { readLedger } from './read-ledger.js';
import type { LedgerTopics } from './ledger-topic.js';

/** What the ledger says about one operation. */
export interface StoredOperation {
  readonly plan: RedrivePlan;
  readonly control: ControlEntry | undefined;
  readonly progress: ReadonlyMap<number, ProgressEntry>;
}

export interface OperationLogParts {
  readonly admin: Pick<AdminSession, 'readRange'>;
  readonly producer: () => ProducerSession;
  readonly topics: LedgerTopics;
}

/** Plans and commands are in this partition of the ledger. */
const OPERATIONS = 0;

/** Reads and writes plans, commands and progress. Letters are written by claims only. */
export class OperationLog {
  constructor(private readonly parts: OperationLogParts) {}

  savePlan(plan: RedrivePlan): Promise<void> {
    return this.#write(ledgerKeys.plan(plan.id), { kind: 'plan', plan });
  }

  saveControl(operation: string, control: Omit<ControlEntry, 'kind'>): Promise<void> {
    const key = ledgerKeys.control(operation, control.command);
    return this.#write(key, { kind: 'control', ...control });
  }

  /** Returns one operation; undefined if the ledger has no plan with this id. */
  async find(operation: string): Promise<StoredOperation | undefined> {
    return (await this.#read((id) => id === operation)).get(operation);
  }

  /** Returns all operations, the latest first. */
  async all(): Promise<readonly StoredOperation[]> {
    const operations = [...(await this.#read(() => true)).values()];
    return operations.toSorted((one, other) => other.plan.createdAt - one.plan.createdAt);
  }

  saveAction(action: Omit<ActionEntry, 'kind'>): Promise<void> {
    return this.#write(ledgerKeys.action(action.id), { kind: 'action', ...action });
  }

  /** Returns all actions that are no replay, the latest first. */
  async actions(): Promise<readonly ActionEntry[]> {
    const { admin, topics } = this.parts;
    const actions = new Map<string, ActionEntry>();
    for await (const { key, entry } of readLedger(admin, {
      topic: topics.ledger,
      partition: OPERATIONS,
    }))
      if (entry?.kind === 'action') actions.set(key, entry);
    return [...actions.values()].toSorted((one, other) => other.at - one.at);
  }

  async #read(
    isWanted: (operation: string) => boolean,
  ): Promise<ReadonlyMap<string, StoredOperation>> {
    const plans = new Map<string, RedrivePlan>();
    const controls = new Map<string, ControlEntry>();
    const progress = new Map<string, Map<number, ProgressEntry>>();
    const { admin, topics } = this.parts;
    for (let partition = 0; partition < topics.ledgerPartitions; partition++)
      for await (const { key, entry } of readLedger(admin, { topic: topics.ledger, partition })) {
        const [kind, operation = '', letters = ''] = key.split('/');
        if (entry === undefined || entry.kind !== kind || !isWanted(operation)) continue;
        if (entry.kind === 'plan') plans.set(operation, entry.plan);
        if (entry.kind === 'control' && controls.get(operation)?.command !== 'cancel')
          controls.set(operation, entry);
        if (entry.kind === 'progress') {
          const known = progress.get(operation) ?? new Map<number, ProgressEntry>();
          progress.set(operation, known.set(Number(letters), entry));
        }
      }
    return new Map(
      [...plans].map(([id, plan]) => [
        id,
        { plan, control: controls.get(id), progress: progress.get(id) ?? new Map() },
      ]),
    );
  }

  async #write(key: string, entry: LedgerEntry): Promise<void> {
    const { producer, topics } = this.parts;
    const record = { topic: topics.ledger, partition: OPERATIONS, key, value: encodeEntry(entry) };
    await producer().send([record]);
  }
}

const LOOK_EVERY_MS = 1_000;

/** Looks now and then whether an operator has cancelled an operation, on any node. */
export class CancelWatch {
  #readTo = 0;
  #lookAt = -Infinity;
  #isCancelled = false;
  #looking: Promise<void> | undefined;

  constructor(
    private readonly parts: Pick<OperationLogParts, 'admin' | 'topics'>,
    private readonly operation: string,
    private readonly runtime: Pick<Runtime, 'monotonic'>,
  ) {}

  async isCancelled(): Promise<boolean> {
    if (!this.#isCancelled && this.runtime.monotonic() >= this.#lookAt)
      await (this.#looking ??= this.#look().finally(() => (this.#looking = undefined)));
    return this.#isCancelled;
  }

  async #look(): Promise<void> {
    this.#lookAt = this.runtime.monotonic() + LOOK_EVERY_MS;
    const { admin, topics } = this.parts;
    const range = { topic: topics.ledger, partition: OPERATIONS, from: this.#readTo };
    for await (const { key, entry, offset } of readLedger(admin, range)) {
      this.#readTo = offset + 1;
      if (entry?.kind === 'control' && entry.command === 'cancel')
        this.#isCancelled ||= key === ledgerKeys.control(this.operation, 'cancel');
    }
  }
}
