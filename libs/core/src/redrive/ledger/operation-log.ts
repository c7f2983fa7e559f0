import type { AdminSession, ProducerSession } from '@nest-event-bus/broker';
import { Backoff, sleep, type Runtime } from '@nest-event-bus/broker/runtime';
import type { RedrivePlan } from '../planning/redrive-plan.js';
import {
  encodeEntry,
  ledgerKeys,
  type ActionEntry,
  type ApprovalEntry,
  type BrakeEntry,
  type CanaryEntry,
  type ControlEntry,
  type LedgerEntry,
  type VerdictEntry,
} from './ledger-entry.js';
import { operationOf, OperationState } from './operation-state.js';
import { readWholeLedger } from './read-whole-ledger.js';
import { ledgerPartitionOf, type LedgerTopics } from './ledger-topic.js';

/** An operation whose plan is in the ledger. */
export type StoredOperation = OperationState & { readonly plan: RedrivePlan };

export const isPlanned = (state: OperationState): state is StoredOperation =>
  state.plan !== undefined;

export interface OperationLogParts {
  readonly admin: Pick<AdminSession, 'readRange'>;
  readonly producer: () => ProducerSession;
  readonly topics: LedgerTopics;
  readonly runtime: Runtime;
}

/** The wait for a plan that a transaction of another producer hides. */
const READING = { initialMs: 20, maxMs: 1_000 };
/** Longer than the time after which the cluster aborts a transaction of a claim. */
const LONGEST_HIDDEN_MS = 60_000;

/** An operation that nobody has run has nothing to lose; it is planned again at any time. */
const hasEnded = (operation: StoredOperation): boolean => {
  const { plan, control, isCancelled, progress, verdict } = operation;
  if (control === undefined || isCancelled || verdict?.verdict === 'bad') return true;
  return plan.partitions.every(
    ({ partition, selected }) => selected === 0 || progress.get(partition)?.isDone,
  );
};

/** Plans and commands are in this partition of the ledger. */
export const OPERATIONS = 0;

/** Reads and writes plans, commands and progress. Letters are written by claims only. */
export class OperationLog {
  constructor(private readonly parts: OperationLogParts) {}

  /** Resolves when the plan can be found, or after a limited time. */
  async savePlan(plan: RedrivePlan, signal?: AbortSignal): Promise<void> {
    const { runtime } = this.parts;
    const offset = await this.#send(ledgerKeys.plan(plan.id), { kind: 'plan', plan });
    const backoff = new Backoff(runtime, READING);
    const endsAt = runtime.monotonic() + LONGEST_HIDDEN_MS;
    while (runtime.monotonic() < endsAt && !(await this.#isVisible(offset)))
      await sleep(runtime, backoff.next(), signal);
  }

  saveControl(operation: string, control: Omit<ControlEntry, 'kind'>): Promise<void> {
    const key = ledgerKeys.control(operation, control.command);
    return this.#write(key, { kind: 'control', ...control });
  }

  saveCanary(operation: string, canary: Omit<CanaryEntry, 'kind'>): Promise<void> {
    return this.#write(ledgerKeys.canary(operation), { kind: 'canary', ...canary });
  }

  saveVerdict(operation: string, verdict: Omit<VerdictEntry, 'kind'>): Promise<void> {
    const key = ledgerKeys.verdict(operation, verdict.verdict);
    return this.#write(key, { kind: 'verdict', ...verdict });
  }

  saveApproval(operation: string, approval: Omit<ApprovalEntry, 'kind'>): Promise<void> {
    return this.#write(ledgerKeys.approval(operation), { kind: 'approval', ...approval });
  }

  saveBrake(operation: string, brake: Omit<BrakeEntry, 'kind'>): Promise<void> {
    const key = ledgerKeys.brake(operation, brake.node);
    return this.#write(key, { kind: 'brake', ...brake });
  }

  /** Deletes what a node has written about its brake. */
  forgetBrake(operation: string, node: string): Promise<void> {
    return this.#write(ledgerKeys.brake(operation, node), null);
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
    for await (const { key, entry } of readWholeLedger({ admin, topics, partition: OPERATIONS }))
      if (entry?.kind === 'action') actions.set(key, entry);
      else actions.delete(key);
    return [...actions.values()].toSorted((one, other) => other.at - one.at);
  }

  /**
   * Forgets the oldest operations and actions beyond a number, with their commands and progress.
   * Those that may still run are kept. The states of letters are not touched.
   */
  async forgetOld(most: number): Promise<void> {
    const { topics } = this.parts;
    const actions = (await this.actions()).slice(most).map(({ id }) => ledgerKeys.action(id));
    const old = (await this.all()).slice(most).filter(hasEnded);
    const commands = old.flatMap(({ id, brakes }) => [
      ledgerKeys.canary(id),
      ledgerKeys.verdict(id, 'good'),
      ledgerKeys.verdict(id, 'bad'),
      ledgerKeys.approval(id),
      ...[...brakes.keys()].map((node) => ledgerKeys.brake(id, node)),
      ledgerKeys.plan(id),
      ledgerKeys.control(id, 'run'),
      ledgerKeys.control(id, 'cancel'),
    ]);
    const progress = old.flatMap(({ id, progress: ofPartitions }) =>
      [...ofPartitions.keys()].map((partition) => ({
        ...{ topic: topics.ledger, partition: ledgerPartitionOf(topics, partition) },
        ...{ key: ledgerKeys.progress(id, partition), value: null },
      })),
    );
    const deletions = [...actions, ...commands].map((key) => ({
      ...{ topic: topics.ledger, partition: OPERATIONS, key, value: null },
    }));
    // The progress goes first: after a crash the plan says that it has to be forgotten.
    if (progress.length > 0) await this.parts.producer().send(progress);
    if (deletions.length > 0) await this.parts.producer().send(deletions);
  }

  async #read(
    isWanted: (operation: string) => boolean,
  ): Promise<ReadonlyMap<string, StoredOperation>> {
    const states = new Map<string, OperationState>();
    const { admin, topics } = this.parts;
    for (let partition = 0; partition < topics.ledgerPartitions; partition++)
      for await (const stored of readWholeLedger({ admin, topics, partition })) {
        const operation = operationOf(stored);
        if (operation === undefined || !isWanted(operation)) continue;
        const state = states.get(operation) ?? new OperationState(operation);
        states.set(operation, state);
        state.apply(stored);
      }
    const planned = new Map<string, StoredOperation>();
    for (const [id, state] of states) if (isPlanned(state)) planned.set(id, state);
    return planned;
  }

  async #isVisible(offset: number): Promise<boolean> {
    // A write that was repeated may be acknowledged without its offset.
    if (offset < 0) return true;
    const { admin, topics } = this.parts;
    const entries = admin.readRange(topics.ledger, OPERATIONS, offset, offset + 1);
    for await (const _ of entries) return true;
    return false;
  }

  async #write(key: string, entry: LedgerEntry | null): Promise<void> {
    await this.#send(key, entry);
  }

  /** Returns the offset of the entry. */
  async #send(key: string, entry: LedgerEntry | null): Promise<number> {
    const { producer, topics } = this.parts;
    const record = {
      topic: topics.ledger,
      partition: OPERATIONS,
      key,
      value: entry && encodeEntry(entry),
    };
    const [written] = await producer().send([record]);
    return written!.offset;
  }
}
