import type { BindingRef } from '../model/states/binding-ref.js';
import { checkEdit, type LetterEdit } from './editing/letter-edit.js';
import { editAndReplay, type EditReport } from './editing/edit-and-replay.js';
import type { DeadLetterPosition } from './letters/read-letters.js';
import { listLetters, type DeadLetterPage, type ListOptions } from './letters/list-letters.js';
import { withDeadLetters, type RedriveParts } from './ledger/ledger-access.js';
import type { ActionEntry } from './ledger/ledger-entry.js';
import type { StoredOperation } from './ledger/operation-state.js';
import { requireLastingLedger } from './ledger/ledger-policy.js';
import {
  checkedLetters,
  markLetters,
  type LettersToMark,
  type MarkNote,
  type MarkReport,
} from './marking/mark-letters.js';
import type { RedrivePlan } from './planning/redrive-plan.js';
import { purgeLetters } from './purging/purge-letters.js';
import { rulesByAge, rulesByPlan } from './purging/purge-limits.js';
import type { PurgeReport } from './purging/purge-report.js';
import {
  checkNote,
  checkPosition,
  checkRunKeys,
  checkRunOptions,
  checkRequest,
  purgedBefore,
  type PurgeRequest,
  type RedriveRequest,
  type RunOptions,
} from './redrive-request.js';
import {
  destinationOf,
  isPlanOf,
  planRedrive,
  requireOperation,
  withOperations,
  type OperationAccess,
} from './running/redrive-operations.js';
import { ActiveRuns } from './running/active-runs.js';
import { runRedrive } from './running/run-redrive.js';
import { RedriveNews } from './running/redrive-news.js';
import { requireApprovable } from './canary/require-approvable.js';
import { emptyReport, storedReport, type RedriveReport } from './running/redrive-report.js';
import type { RedriveRun, RedriveWork } from './running/redrive-run.js';

/** An operation with its plan, as `operations` returns it. */
export interface RedriveOperation {
  readonly plan: RedrivePlan;
  readonly report: RedriveReport;
}

/** A decision of an operator that is no replay. `result` is missing if its process has died. */
export type RedriveAction = Omit<ActionEntry, 'kind'>;

/** Who approves the rest of an operation, and why. */
export interface ApprovalNote {
  /** The operator, for the ledger. Default: the name of this host. */
  readonly by?: string;
  readonly reason?: string;
}

/**
 * Brings dead letters back. `plan` says what a redrive would do, `run` does exactly that, once, and
 * the ledger of the dead-letter topic remembers it.
 */
export class DltReplayService {
  readonly #runs = new ActiveRuns();
  /** Plans that are being made, by the id that the request names. */
  readonly #planning = new Map<string, Promise<unknown>>();

  constructor(private readonly parts: RedriveParts) {}

  /**
   * Lists dead letters of a binding with their failure and what became of them. Reads without a
   * consumer group, and changes nothing.
   */
  async list(ref: BindingRef, options: ListOptions = {}): Promise<DeadLetterPage> {
    this.#runs.requireOpen('list dead letters');
    const page = await withDeadLetters(this.parts, ref, ({ admin, binding: owner, topics }) =>
      listLetters({ admin, topics, owner, now: this.parts.runtime.now() }, options),
    );
    return page ?? { letters: [] };
  }

  /**
   * Counts what a redrive would replay, freezes it, and stores it in the ledger. Nothing is
   * replayed. Letters that arrive later are not part of the plan.
   */
  async plan(ref: BindingRef, request: RedriveRequest): Promise<RedrivePlan> {
    checkRequest(request);
    return this.#plan(ref, request);
  }

  /**
   * Runs a plan, or resumes it after a crash. Each selected letter is replayed as `delivery` of the
   * plan says, however often and on however many nodes the plan runs.
   */
  run(ref: BindingRef, planId: string, options: RunOptions = {}): RedriveRun {
    checkRunKeys(options);
    checkRunOptions(options);
    const work: RedriveWork = (signal, onProgress) =>
      this.#withOperations(ref, (access) =>
        runRedrive(this.parts, access, planId, options, { signal, onProgress }),
      );
    return this.#runs.start(work, { ref, planId, options });
  }

  /** Makes a plan and runs it. */
  replay(ref: BindingRef, request: RedriveRequest & RunOptions): RedriveRun {
    checkRunOptions(request);
    checkRequest(request);
    const work: RedriveWork = async (signal, onProgress) => {
      const { id } = await this.#plan(ref, { ...request, signal });
      return this.#withOperations(ref, (access) =>
        runRedrive(this.parts, access, id, request, { signal, onProgress }),
      );
    };
    return this.#runs.start(work, { ref, planId: request.id, options: request });
  }

  /**
   * Replays the oldest letters that are older than `dlt.replay.cooldownMs`, at most
   * `dlt.replay.batchSize` of them. Call it from a job of your scheduler. It may run on several
   * nodes, and while other redrives run.
   */
  replayDue(ref: BindingRef, options: RunOptions = {}): RedriveRun {
    checkRunKeys(options);
    checkRunOptions(options);
    const { batchSize: limit, cooldownMs } = this.parts.bindingOf(ref).dlt.replay;
    const where = { deadLetteredAt: { to: this.parts.runtime.now() - cooldownMs + 1 } };
    const request = { where, limit, by: options.by, reason: 'replay of due letters' };
    const work: RedriveWork = (signal, onProgress) =>
      this.#withOperations(ref, async (access) => {
        const wanted = { ...request, signal };
        const plan = await planRedrive(this.parts, access, wanted, { keepsEmpty: false });
        if (plan.selected === 0) return emptyReport(plan);
        return runRedrive(this.parts, access, plan.id, options, { signal, onProgress });
      });
    return this.#runs.start(work, { ref, planId: undefined, options });
  }

  /**
   * Cancels an operation on all nodes. Batches in flight end first. What was replayed stays
   * replayed, and the operation cannot be resumed.
   */
  async cancel(
    ref: BindingRef,
    planId: string,
    { by = this.parts.runtime.hostname() }: { readonly by?: string } = {},
  ): Promise<RedriveReport> {
    checkNote({ by });
    return this.#withOperations(ref, async (access) => {
      const report = this.#reportOf(await requireOperation(access, planId));
      if (report.state === 'completed') return report;
      const control = { command: 'cancel' as const, by, at: this.parts.runtime.now() };
      await access.operations.saveControl(planId, control);
      return { ...report, state: 'cancelled' };
    });
  }

  /** Returns an operation with its plan. */
  async operation(ref: BindingRef, planId: string): Promise<RedriveOperation> {
    return this.#withOperations(ref, async (access) => {
      const stored = await requireOperation(access, planId);
      return { plan: stored.plan, report: this.#reportOf(stored) };
    });
  }

  /**
   * Lets the rest of an operation follow its canary, on whatever node it runs. Also approves a canary
   * that is undecided. A bad canary cannot be approved.
   */
  async approve(ref: BindingRef, planId: string, note: ApprovalNote = {}): Promise<RedriveReport> {
    checkNote(note);
    const { events, logger, runtime } = this.parts;
    const { by = runtime.hostname(), reason } = note;
    return this.#withOperations(ref, async (access) => {
      requireApprovable(await requireOperation(access, planId));
      const approval = { by, ...(reason !== undefined && { reason }), at: runtime.now() };
      await access.operations.saveApproval(planId, approval);
      const operation = await requireOperation(access, planId);
      new RedriveNews({ plan: operation.plan, by, events, runtime, logger }).approved();
      return this.#reportOf(operation);
    });
  }

  /** Returns how far an operation is, on whatever node it runs. */
  async status(ref: BindingRef, planId: string): Promise<RedriveReport> {
    return this.#withOperations(ref, async (access) =>
      this.#reportOf(await requireOperation(access, planId)),
    );
  }

  /** Returns all redrives that the ledger knows, the latest first. */
  async operations(ref: BindingRef): Promise<readonly RedriveOperation[]> {
    return this.#withOperations(ref, async ({ binding, operations }) => {
      const own = (await operations.all()).filter(({ plan }) => isPlanOf(plan, binding));
      return own.map((stored) => ({ plan: stored.plan, report: this.#reportOf(stored) }));
    });
  }

  /** Returns all marks and purges that the ledger knows, the latest first. */
  async actions(ref: BindingRef): Promise<readonly RedriveAction[]> {
    return this.#withOperations(ref, async ({ binding, operations }) => {
      const own = (await operations.actions()).filter((action) => isPlanOf(action, binding));
      return own.map(({ kind: _kind, ...action }) => action);
    });
  }

  /**
   * Replays one open letter with another value, key or headers: exactly once, or at least once if the
   * cluster allows no transactions, as the report says. The new record names the letter of which it
   * was made. The ledger keeps who did it, and digests instead of payloads.
   */
  async editAndReplay(
    ref: BindingRef,
    position: DeadLetterPosition,
    edit: LetterEdit,
    note: MarkNote,
  ): Promise<EditReport> {
    checkNote(note);
    checkEdit(edit);
    checkPosition(position);
    const { logger, runtime } = this.parts;
    const { partition, offset } = position;
    const changed = Object.keys(edit).filter(
      (part) => edit[part as keyof LetterEdit] !== undefined,
    );
    const id = runtime.uuid();
    return this.#withOperations(ref, (access) =>
      this.#record(access, 'edit-and-replay', note, { partition, offset, changed }, async () => {
        const { topic: targetTopic } = access.binding;
        const destination = await destinationOf(access, { target: 'origin', targetTopic });
        const said = { by: runtime.hostname(), ...note, id };
        const parts = { position: { partition, offset }, edit, destination, runtime, logger };
        return editAndReplay(access, { ...parts, ...said });
      }),
    );
  }

  /** Gives open letters up. They are no longer open, and no redrive selects them. */
  markPermanentlyFailed(
    ref: BindingRef,
    letters: LettersToMark,
    note: MarkNote,
  ): Promise<MarkReport> {
    return this.#mark(ref, letters, note, 'permanently-failed');
  }

  /** Makes letters open again that were replayed or given up. */
  reopen(ref: BindingRef, letters: LettersToMark, note: MarkNote): Promise<MarkReport> {
    return this.#mark(ref, letters, note, 'open');
  }

  /**
   * Deletes the oldest letters, by age or by plan, and what the ledger says about them. Stops in
   * front of a letter that was not asked for, because Kafka deletes only from the beginning.
   */
  async purge(ref: BindingRef, request: PurgeRequest): Promise<PurgeReport> {
    checkNote(request);
    const { runtime } = this.parts;
    const before = purgedBefore(request, runtime.now());
    return this.#withOperations(ref, async (access) => {
      const rules =
        before === undefined
          ? rulesByPlan(access, (await requireOperation(access, request.plan!)).plan)
          : await rulesByAge(access, before);
      const asked = before === undefined ? { plan: request.plan } : { before };
      return this.#record(access, 'purge', request, asked, () =>
        purgeLetters(access, rules, runtime),
      );
    });
  }

  /**
   * Stops all runs of this process, and waits for their batches in flight. Calls that follow are
   * refused. Never rejects.
   */
  async close(): Promise<void> {
    await this.#runs.close();
  }

  #reportOf(operation: StoredOperation): RedriveReport {
    return storedReport(operation, this.parts.runtime.now());
  }

  /** Plans with the same id one after the other, so that the second finds the plan of the first. */
  async #plan(ref: BindingRef, request: RedriveRequest): Promise<RedrivePlan> {
    const make = (): Promise<RedrivePlan> =>
      this.#withOperations(ref, (access) => planRedrive(this.parts, access, request));
    const { id } = request;
    if (id === undefined) return make();
    const planning = (this.#planning.get(id) ?? Promise.resolve()).then(make, make);
    this.#planning.set(id, planning);
    try {
      return await planning;
    } finally {
      if (this.#planning.get(id) === planning) this.#planning.delete(id);
    }
  }

  /** Calls back with the ledger of a binding, unless the service is closed. */
  async #withOperations<T>(
    ref: BindingRef,
    act: (access: OperationAccess) => Promise<T>,
  ): Promise<T> {
    this.#runs.requireOpen('use the ledger of dead letters');
    return withOperations(this.parts, ref, act);
  }

  async #mark(
    ref: BindingRef,
    letters: LettersToMark,
    note: MarkNote,
    status: 'permanently-failed' | 'open',
  ): Promise<MarkReport> {
    checkNote(note);
    const { runtime } = this.parts;
    const asked = checkedLetters(letters, runtime.now());
    const marking = { status, runtime, note: { by: runtime.hostname(), ...note } };
    const action = status === 'open' ? 'reopen' : 'mark-permanently-failed';
    return this.#withOperations(ref, (access) =>
      this.#record(access, action, note, { ...asked }, () => markLetters(access, asked, marking)),
    );
  }

  /** Writes who does what and why before it is done, and its result afterwards. */
  async #record<Result extends object>(
    access: OperationAccess,
    action: RedriveAction['action'],
    { by, reason }: { readonly by?: string; readonly reason?: string },
    request: RedriveAction['request'],
    act: () => Promise<Result>,
  ): Promise<Result> {
    const { binding, operations } = access;
    const { runtime } = this.parts;
    await requireLastingLedger(this.parts, access);
    const entry: RedriveAction = {
      ...{ id: runtime.uuid(), action, binding: binding.name, groupId: binding.groupId, request },
      by: by ?? runtime.hostname(),
      ...(reason !== undefined && { reason }),
      at: runtime.now(),
    };
    await operations.saveAction(entry);
    const result = await act();
    await operations.saveAction({ ...entry, result: Object.fromEntries(Object.entries(result)) });
    return result;
  }
}
