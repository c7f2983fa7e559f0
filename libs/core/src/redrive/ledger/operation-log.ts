import type { AdminSession, ProducerSession } from '@nest-event-bus/broker';
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
import { isCompleted, type StoredOperation } from './operation-state.js';
import { OPERATIONS, readCommands, readOperations } from './read-operations.js';
import { ledgerPartitionOf, type LedgerTopics } from './ledger-topic.js';

export interface OperationLogParts {
  readonly admin: Pick<AdminSession, 'readRange'>;
  readonly producer: () => ProducerSession;
  readonly topics: LedgerTopics;
}

/** An operation that nobody has run has nothing to lose; it is planned again at any time. */
const hasEnded = (operation: StoredOperation): boolean => {
  const { control, isCancelled, verdict } = operation;
  return (
    control === undefined || isCancelled || verdict?.verdict === 'bad' || isCompleted(operation)
  );
};

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
    return (await readOperations(this.parts, (id) => id === operation)).get(operation);
  }

  /** Returns all operations, the latest first. */
  async all(): Promise<readonly StoredOperation[]> {
    const operations = [...(await readOperations(this.parts)).values()];
    return operations.toSorted((one, other) => other.plan.createdAt - one.plan.createdAt);
  }

  saveAction(action: Omit<ActionEntry, 'kind'>): Promise<void> {
    return this.#write(ledgerKeys.action(action.id), { kind: 'action', ...action });
  }

  /** Returns all actions that are no replay, the latest first. */
  async actions(): Promise<readonly ActionEntry[]> {
    const actions = new Map<string, ActionEntry>();
    for await (const { stored } of readCommands(this.parts)) {
      const { key, entry } = stored;
      if (entry?.kind === 'action') actions.set(key, entry);
      else actions.delete(key);
    }
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

  async #write(key: string, entry: LedgerEntry | null): Promise<void> {
    const { producer, topics } = this.parts;
    const record = {
      topic: topics.ledger,
      partition: OPERATIONS,
      key,
      value: entry && encodeEntry(entry),
    };
    await producer().send([record]);
  }
}
