import type {
  AdminSession,
  BrokerDriver,
  DriverLogger,
  ProducerSession,
} from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { ResolvedBinding } from '../config/resolving/resolved-binding.js';
import { TierNotFoundException } from '../errors/container-errors.js';
import { RedrivePlanNotFoundException, RedriveRefusedException } from '../errors/redrive-errors.js';
import type { BindingRef } from '../model/states/binding-ref.js';
import { fixAges } from './letters/dead-letter-filter.js';
import { listLetters, type DeadLetterPage, type ListOptions } from './letters/list-letters.js';
import type { ProgressEntry } from './ledger/ledger-entry.js';
import { ledgerTopicOf, requireLedger, type LedgerTopics } from './ledger/ledger-topic.js';
import { CancelWatch, OperationLog, type StoredOperation } from './ledger/operation-log.js';
import { LetterSelection } from './planning/letter-selection.js';
import { Planner } from './planning/planner.js';
import type { RedrivePlan, RedriveTarget } from './planning/redrive-plan.js';
import {
  checkRate,
  checkRequest,
  type RedriveRequest,
  type RunOptions,
} from './redrive-request.js';
import { PartitionReplay } from './running/partition-replay.js';
import { redriveReport, type RedriveReport } from './running/redrive-report.js';
import { RedriveRun } from './running/redrive-run.js';
import { ReplayRate } from './running/replay-rate.js';

export interface DltReplayParts {
  /** Returns the options of a binding. Throws if there is no such binding. */
  readonly bindingOf: (ref: BindingRef) => ResolvedBinding;
  readonly driverOf: (cluster: string) => BrokerDriver;
  /** Returns the producer for plans and commands. */
  readonly producerOf: (cluster: string) => ProducerSession;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

/** The parts that one call works with. Its admin session is closed at the end of the call. */
interface Access {
  readonly binding: ResolvedBinding;
  readonly driver: BrokerDriver;
  readonly admin: AdminSession;
  readonly topics: LedgerTopics;
  readonly operations: OperationLog;
}

/**
 * Brings dead letters back. `plan` says what a redrive would do, `run` does exactly that, once, and
 * the ledger of the dead-letter topic remembers it.
 */
export class DltReplayService {
  readonly #runs = new Set<RedriveRun>();

  constructor(private readonly parts: DltReplayParts) {}

  /**
   * Lists dead letters of a binding with their failure and what became of them. Reads without a
   * consumer group, and changes nothing.
   */
  async list(ref: BindingRef, options: ListOptions = {}): Promise<DeadLetterPage> {
    const owner = this.parts.bindingOf(ref);
    return this.#withAdmin(owner, async (admin) => {
      const ledger = ledgerTopicOf(owner);
      const known = await admin.topics([owner.dlt.topic, ledger]);
      const isKnown = (topic: string): boolean => known.some(({ name }) => name === topic);
      if (!isKnown(owner.dlt.topic)) return { letters: [] };
      const topics = isKnown(ledger) ? await requireLedger(admin, owner) : undefined;
      return listLetters({ admin, topics, owner }, options);
    });
  }

  /**
   * Counts what a redrive would replay, freezes it, and stores it in the ledger. Nothing is
   * replayed. Letters that arrive later are not part of the plan.
   */
  async plan(ref: BindingRef, request: RedriveRequest): Promise<RedrivePlan> {
    checkRequest(request);
    const { runtime } = this.parts;
    const createdAt = runtime.now();
    const filter = request.where === undefined ? undefined : fixAges(request.where, createdAt);
    return this.#withAccess(ref, async ({ admin, binding, operations, topics }) => {
      const { to: target = 'origin', by: createdBy = runtime.hostname(), reason } = request;
      const targetTopic = targetTopicOf(binding, target);
      const { limit, signal } = request;
      const selection = this.#selectionOf(binding, filter);
      const counted = await new Planner({ admin, topics, selection, limit, signal }).plan();
      const plan: RedrivePlan = {
        id: runtime.uuid(),
        binding: binding.name,
        cluster: binding.cluster,
        groupId: binding.groupId,
        deadLetterTopic: topics.deadLetters,
        deadLetterTopicId: topics.deadLetterTopicId,
        createdAt,
        createdBy,
        ...(reason !== undefined && { reason }),
        ...(filter !== undefined && { filter }),
        target,
        targetTopic,
        maxReplays: binding.dlt.replay.maxReplays,
        ...counted,
      };
      await operations.savePlan(plan);
      return plan;
    });
  }

  /**
   * Runs a plan, or resumes it after a crash. Each selected letter is replayed exactly once, however
   * often and on however many nodes the plan runs.
   */
  run(ref: BindingRef, planId: string, options: RunOptions = {}): RedriveRun {
    checkRate(options.rate);
    const work = new RedriveRun(
      (signal, onProgress) =>
        this.#withAccess(ref, (access) =>
          this.#run(access, planId, options, { signal, onProgress }),
        ),
      options.signal,
    );
    this.#runs.add(work);
    const forget = (): void => void this.#runs.delete(work);
    void work.then(forget, forget);
    return work;
  }

  /** Makes a plan and runs it. */
  replay(ref: BindingRef, request: RedriveRequest & RunOptions): RedriveRun {
    checkRate(request.rate);
    checkRequest(request);
    const { rate, by, signal: stopping, ...selection } = request;
    const work = new RedriveRun(async (signal, onProgress) => {
      const note = by === undefined ? {} : { by };
      const { id } = await this.plan(ref, { ...selection, ...note, signal });
      return this.#withAccess(ref, (access) =>
        this.#run(access, id, { rate, ...note }, { signal, onProgress }),
      );
    }, stopping);
    this.#runs.add(work);
    const forget = (): void => void this.#runs.delete(work);
    void work.then(forget, forget);
    return work;
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
    return this.#withAccess(ref, async ({ binding, operations }) => {
      const stored = await this.#require(binding, operations, planId);
      const report = reportOf(stored);
      if (report.state === 'completed') return report;
      const control = { command: 'cancel' as const, by, at: this.parts.runtime.now() };
      await operations.saveControl(planId, control);
      return { ...report, state: 'cancelled' };
    });
  }

  /** Returns how far an operation is, on whatever node it runs. */
  async status(ref: BindingRef, planId: string): Promise<RedriveReport> {
    return this.#withAccess(ref, async ({ binding, operations }) =>
      reportOf(await this.#require(binding, operations, planId)),
    );
  }

  /** Returns all operations that the ledger knows, the latest first. */
  async operations(
    ref: BindingRef,
  ): Promise<readonly { readonly plan: RedrivePlan; readonly report: RedriveReport }[]> {
    return this.#withAccess(ref, async ({ binding, operations }) => {
      const own = (await operations.all()).filter(({ plan }) => isPlanOf(plan, binding));
      return own.map((stored) => ({ plan: stored.plan, report: reportOf(stored) }));
    });
  }

  /** Stops all runs of this process, and waits for their batches in flight. Never rejects. */
  async close(): Promise<void> {
    const runs = [...this.#runs];
    for (const run of runs) run.stop();
    await Promise.allSettled(runs);
  }

  async #run(
    { admin, binding, driver, operations, topics }: Access,
    planId: string,
    { rate: perSecond, by }: RunOptions,
    {
      signal,
      onProgress,
    }: { readonly signal: AbortSignal; readonly onProgress: (report: RedriveReport) => void },
  ): Promise<RedriveReport> {
    const { runtime, logger } = this.parts;
    const { plan, control } = await this.#require(binding, operations, planId);
    requireRunnable(plan, topics, control?.command, driver);
    const operator = by ?? plan.createdBy;
    await operations.saveControl(planId, { command: 'run', by: operator, at: runtime.now() });
    const progress = new Map<number, ProgressEntry>();
    const watch = new CancelWatch({ admin, topics }, planId, runtime);
    const rate = new ReplayRate(runtime, perSecond);
    const destination = await destinationOf(admin, binding, plan);
    const ending = new AbortController();
    const stopping = AbortSignal.any([signal, ending.signal]);
    const replays = plan.partitions
      .filter(({ selected }) => selected > 0)
      .map((planned) =>
        new PartitionReplay({
          ...{ admin, destination, driver, logger, plan, planned, rate, runtime, topics },
          selection: this.#selectionOf(binding, plan.filter, plan.maxReplays),
          by: operator,
          signal: stopping,
          isCancelled: () => watch.isCancelled(),
          onProgress: (_, entry) => {
            progress.set(planned.partition, entry);
            onProgress(redriveReport(plan, progress, 'running'));
          },
        })
          .run()
          .catch((error: unknown) => {
            ending.abort();
            throw error;
          }),
      );
    const results = await Promise.allSettled(replays);
    const failed = results.find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
    const isCancelled = await watch.isCancelled();
    return redriveReport(plan, progress, isCancelled ? 'cancelled' : 'stopped');
  }

  async #require(
    binding: ResolvedBinding,
    operations: OperationLog,
    planId: string,
  ): Promise<StoredOperation> {
    const stored = await operations.find(planId);
    if (stored && isPlanOf(stored.plan, binding)) return stored;
    throw new RedrivePlanNotFoundException(binding.name, planId);
  }

  #selectionOf(
    owner: ResolvedBinding,
    filter: RedrivePlan['filter'],
    maxReplays = owner.dlt.replay.maxReplays,
  ): LetterSelection {
    return new LetterSelection({ owner, filter, maxReplays });
  }

  #withAccess<T>(ref: BindingRef, act: (access: Access) => Promise<T>): Promise<T> {
    const binding = this.parts.bindingOf(ref);
    return this.#withAdmin(binding, async (admin) => {
      const topics = await requireLedger(admin, binding);
      const producer = (): ProducerSession => this.parts.producerOf(binding.cluster);
      const operations = new OperationLog({ admin, producer, topics });
      const driver = this.parts.driverOf(binding.cluster);
      return act({ binding, driver, admin, topics, operations });
    });
  }

  async #withAdmin<T>(
    { cluster }: ResolvedBinding,
    act: (admin: AdminSession) => Promise<T>,
  ): Promise<T> {
    const admin = this.parts.driverOf(cluster).admin();
    try {
      return await act(admin);
    } finally {
      await admin.close();
    }
  }
}

/** Bindings that share a dead-letter topic share its ledger. */
function isPlanOf({ binding, groupId }: RedrivePlan, { name, ...owner }: ResolvedBinding): boolean {
  return binding === name && groupId === owner.groupId;
}

function reportOf({ plan, control, progress }: StoredOperation): RedriveReport {
  const states = { run: 'running', cancel: 'cancelled' } as const;
  return redriveReport(plan, progress, control ? states[control.command] : 'planned');
}

function requireRunnable(
  { binding, deadLetterTopic, deadLetterTopicId }: RedrivePlan,
  topics: LedgerTopics,
  command: 'run' | 'cancel' | undefined,
  { capabilities, name }: BrokerDriver,
): void {
  const refuse = (complaint: string): never => {
    throw new RedriveRefusedException(binding, complaint);
  };
  if (command === 'cancel')
    refuse('the operation was cancelled. Make a new plan for what is left.');
  if (topics.deadLetterTopicId !== deadLetterTopicId)
    refuse(
      `topic '${deadLetterTopic}' was deleted and created again since the plan was made, so its offsets name other letters. Make a new plan.`,
    );
  if (!capabilities.transactions)
    refuse(`driver '${name}' has no transactions, without which a letter could be replayed twice.`);
}

function targetTopicOf({ name, topic, retry }: ResolvedBinding, target: RedriveTarget): string {
  if (target === 'origin') return topic;
  const tier = retry.tiers.find(({ number }) => number === target.tier);
  if (tier) return tier.topic;
  throw new TierNotFoundException(
    name,
    target.tier,
    retry.tiers.map(({ number }) => number),
  );
}

async function destinationOf(
  admin: AdminSession,
  { name, groupId }: ResolvedBinding,
  { target, targetTopic }: RedrivePlan,
) {
  const [topic] = await admin.topics([targetTopic]);
  if (!topic) throw new RedriveRefusedException(name, `topic '${targetTopic}' does not exist.`);
  return {
    binding: name,
    groupId,
    topic: targetTopic,
    tier: target === 'origin' ? undefined : target.tier,
    partitions: topic.partitions.length,
  };
}
