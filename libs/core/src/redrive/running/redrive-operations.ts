import type { ProducerSession } from '@nest-event-bus/broker';
import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import { TierNotFoundException } from '../../errors/container-errors.js';
import {
  RedrivePlanNotFoundException,
  RedriveRefusedException,
} from '../../errors/redrive-errors.js';
import type { BindingRef } from '../../model/states/binding-ref.js';
import { fixAges } from '../letters/dead-letter-filter.js';
import { withLedger, type LedgerAccess, type RedriveParts } from '../ledger/ledger-access.js';
import { requireLastingLedger } from '../ledger/ledger-policy.js';
import type { ProgressEntry } from '../ledger/ledger-entry.js';
import { CancelWatch, OperationLog, type StoredOperation } from '../ledger/operation-log.js';
import { LetterSelection } from '../planning/letter-selection.js';
import { Planner } from '../planning/planner.js';
import type { RedrivePlan, RedriveTarget } from '../planning/redrive-plan.js';
import { requireSameTopic } from '../planning/require-same-topic.js';
import type { RedriveRequest, RunOptions } from '../redrive-request.js';
import { PartitionReplay, type PartitionReplayParts } from './partition-replay.js';
import { redriveReport, type RedriveReport } from './redrive-report.js';
import { ReplayRate } from './replay-rate.js';

/** The ledger of a binding, with its plans and commands. */
export interface OperationAccess extends LedgerAccess {
  readonly operations: OperationLog;
}

/** How a run is stopped, and who follows it. */
export interface RunControl {
  readonly signal: AbortSignal;
  readonly onProgress: (report: RedriveReport) => void;
}

export function withOperations<T>(
  parts: RedriveParts,
  ref: BindingRef,
  act: (access: OperationAccess) => Promise<T>,
): Promise<T> {
  return withLedger(parts, ref, (access) => {
    const { admin, binding, topics } = access;
    const producer = (): ProducerSession => parts.producerOf(binding.cluster);
    return act({ ...access, operations: new OperationLog({ admin, producer, topics }) });
  });
}

/** Counts what the request selects, and stores the plan. */
export async function planRedrive(
  parts: RedriveParts,
  access: OperationAccess,
  request: RedriveRequest,
): Promise<RedrivePlan> {
  const { runtime } = parts;
  const { admin, binding, operations, topics } = access;
  await requireLastingLedger(parts, access);
  const { to: target = 'origin', by: createdBy = runtime.hostname(), reason } = request;
  const { limit, signal } = request;
  const createdAt = runtime.now();
  const filter = request.where === undefined ? undefined : fixAges(request.where, createdAt);
  const targetTopic = targetTopicOf(binding, target);
  const { maxReplays } = binding.dlt.replay;
  const selection = new LetterSelection({ owner: binding, filter, maxReplays });
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
    maxReplays,
    ...counted,
  };
  await operations.savePlan(plan);
  return plan;
}

/** Runs a plan until it is done, cancelled, or the signal aborts. */
export async function runRedrive(
  parts: RedriveParts,
  access: OperationAccess,
  planId: string,
  { rate: perSecond, by }: RunOptions,
  { signal, onProgress }: RunControl,
): Promise<RedriveReport> {
  const { logger, runtime } = parts;
  const { admin, binding, driver, operations, topics } = access;
  await requireLastingLedger(parts, access);
  const { plan, control } = await requireOperation(access, planId);
  requireRunnable(plan, access, control?.command);
  const operator = by ?? plan.createdBy;
  await operations.saveControl(planId, { command: 'run', by: operator, at: runtime.now() });
  const progress = new Map<number, ProgressEntry>();
  const watch = new CancelWatch({ admin, topics }, planId, runtime);
  const { filter, maxReplays } = plan;
  await replayPartitions(plan, signal, {
    ...{ admin, driver, logger, plan, runtime, topics },
    rate: new ReplayRate(runtime, perSecond),
    destination: await destinationOf(access, plan),
    selection: new LetterSelection({ owner: binding, filter, maxReplays }),
    by: operator,
    isCancelled: () => watch.isCancelled(),
    onProgress: ({ partition }, entry) => {
      progress.set(partition, entry);
      onProgress(redriveReport(plan, progress, 'running'));
    },
  });
  return redriveReport(plan, progress, (await watch.isCancelled()) ? 'cancelled' : 'stopped');
}

/** Replays all partitions together. If one fails, the others stop after their batches in flight. */
async function replayPartitions(
  { partitions }: RedrivePlan,
  signal: AbortSignal,
  parts: Omit<PartitionReplayParts, 'planned' | 'signal'>,
): Promise<void> {
  const ending = new AbortController();
  const stopping = AbortSignal.any([signal, ending.signal]);
  const replay = async (planned: PartitionReplayParts['planned']): Promise<void> => {
    try {
      await new PartitionReplay({ ...parts, planned, signal: stopping }).run();
    } catch (error) {
      ending.abort(error);
      throw error;
    }
  };
  const replays = partitions.filter(({ selected }) => selected > 0).map(replay);
  const results = await Promise.allSettled(replays);
  const failed = results.find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
}

export async function requireOperation(
  { binding, operations }: OperationAccess,
  planId: string,
): Promise<StoredOperation> {
  const stored = await operations.find(planId);
  if (stored && isPlanOf(stored.plan, binding)) return stored;
  throw new RedrivePlanNotFoundException(binding.name, planId);
}

/** Bindings that share a dead-letter topic share its ledger. */
export function isPlanOf(
  { binding, groupId }: Pick<RedrivePlan, 'binding' | 'groupId'>,
  owner: ResolvedBinding,
): boolean {
  return binding === owner.name && groupId === owner.groupId;
}

export function reportOf({ plan, control, progress }: StoredOperation): RedriveReport {
  const states = { run: 'running', cancel: 'cancelled' } as const;
  return redriveReport(plan, progress, control ? states[control.command] : 'planned');
}

function requireRunnable(
  plan: RedrivePlan,
  { driver: { capabilities, name }, topics }: LedgerAccess,
  command: 'run' | 'cancel' | undefined,
): void {
  const refuse = (complaint: string): never => {
    throw new RedriveRefusedException(plan.binding, complaint);
  };
  if (command === 'cancel')
    refuse('the operation was cancelled. Make a new plan for what is left.');
  requireSameTopic(plan, topics);
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
  { admin, binding: { name, groupId } }: LedgerAccess,
  { target, targetTopic }: RedrivePlan,
): Promise<PartitionReplayParts['destination']> {
  const [topic] = await admin.topics([targetTopic]);
  if (!topic)
    throw new RedriveRefusedException(
      name,
      `topic '${targetTopic}' does not exist. Create it, or choose another target.`,
    );
  return {
    binding: name,
    groupId,
    topic: targetTopic,
    tier: target === 'origin' ? undefined : target.tier,
    partitions: topic.partitions.length,
  };
}
