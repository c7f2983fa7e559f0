import type { ProducerSession } from '@nest-event-bus/broker';
import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import {
  RedrivePlanNotFoundException,
  RedriveRefusedException,
} from '../../errors/redrive-errors.js';
import type { BindingRef } from '../../model/states/binding-ref.js';
import { fixAges } from '../letters/dead-letter-filter.js';
import { allowedDelivery } from '../ledger/delivery.js';
import { withLedger, type LedgerAccess, type RedriveParts } from '../ledger/ledger-access.js';
import { requireLastingLedger } from '../ledger/ledger-policy.js';
import { OperationLog } from '../ledger/operation-log.js';
import { isPlanned, type OperationState, type StoredOperation } from '../ledger/operation-state.js';
import { LetterSelection } from '../planning/letter-selection.js';
import { otherGroupsOf } from '../planning/other-groups.js';
import { Planner } from '../planning/planner.js';
import type { RedrivePlan } from '../planning/redrive-plan.js';
import { requestDigest } from '../planning/request-digest.js';
import { targetTopicOf } from '../planning/target-topic.js';
import { requireSameTopic } from '../planning/require-same-topic.js';
import type { RedriveRequest } from '../redrive-request.js';
import type { PartitionReplayParts } from './partition-replay.js';
import type { RedriveReport } from './redrive-report.js';

/** The ledger of a binding, with its plans and commands. */
export interface OperationAccess extends LedgerAccess {
  readonly operations: OperationLog;
}

/** The ledger keeps the latest redrives, and as many marks and purges. */
const MOST_OPERATIONS = 1_000;

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

/**
 * Counts what the request selects, and stores the plan. If the request names the id of a plan that
 * exists, returns that plan. A plan of a schedule that selects nothing is not kept.
 */
export async function planRedrive(
  parts: RedriveParts,
  access: OperationAccess,
  request: RedriveRequest,
  { keepsEmpty = true }: { readonly keepsEmpty?: boolean } = {},
): Promise<RedrivePlan> {
  const { runtime } = parts;
  const { admin, binding, operations, topics } = access;
  const existing = await existingPlan(access, request);
  if (existing) return existing;
  await requireLastingLedger(parts, access);
  const { to: target = 'origin', by: createdBy = runtime.hostname(), reason } = request;
  const { limit, signal } = request;
  const createdAt = runtime.now();
  const filter = request.where === undefined ? undefined : fixAges(request.where, createdAt);
  const targetTopic = targetTopicOf(binding, target, parts.bindings());
  await destinationOf(access, { target, targetTopic });
  const delivery = await allowedDelivery(access.driver, topics);
  const { maxReplays } = binding.dlt.replay;
  const selection = new LetterSelection({ owner: binding, filter, maxReplays });
  const counted = await new Planner({ admin, topics, selection, limit, signal }).plan();
  const { groupId } = binding;
  const otherGroups = await otherGroupsOf({ admin, topic: targetTopic, groupId });
  const plan: RedrivePlan = {
    id: request.id ?? runtime.uuid(),
    ...(request.id !== undefined && { requestDigest: requestDigest(request) }),
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
    ...(otherGroups && { otherGroups }),
    maxReplays,
    delivery,
    ...counted,
  };
  if (!keepsEmpty && plan.selected === 0) return plan;
  await operations.savePlan(plan);
  await operations.forgetOld(MOST_OPERATIONS);
  return plan;
}

/** Returns the plan that the request names, so that a request can be repeated after a time-out. */
async function existingPlan(
  { binding, operations }: OperationAccess,
  request: RedriveRequest,
): Promise<RedrivePlan | undefined> {
  if (request.id === undefined) return undefined;
  const plan = (await operations.find(request.id))?.plan;
  if (!plan) return undefined;
  if (isPlanOf(plan, binding) && plan.requestDigest === requestDigest(request)) return plan;
  throw new RedriveRefusedException(
    binding.name,
    `id '${request.id}' belongs to a plan with another selection. Choose another id.`,
  );
}

export async function requireOperation(
  access: OperationAccess,
  planId: string,
): Promise<StoredOperation> {
  return requireStored(await access.operations.find(planId), access, planId);
}

/** Returns the operation if the ledger has its plan, and if the plan is that of the binding. */
export function requireStored(
  found: OperationState | undefined,
  { binding }: Pick<OperationAccess, 'binding'>,
  planId: string,
): StoredOperation {
  if (found && isPlanned(found) && isPlanOf(found.plan, binding)) return found;
  throw new RedrivePlanNotFoundException(binding.name, planId);
}

/** Bindings that share a dead-letter topic share its ledger. */
export function isPlanOf(
  { binding, groupId }: Pick<RedrivePlan, 'binding' | 'groupId'>,
  owner: ResolvedBinding,
): boolean {
  return binding === owner.name && groupId === owner.groupId;
}

export function requireRunnable(
  plan: RedrivePlan,
  access: LedgerAccess,
  command: 'run' | 'cancel' | undefined,
): void {
  if (command === 'cancel')
    throw new RedriveRefusedException(
      plan.binding,
      'the operation was cancelled. Make a new plan for what is left.',
    );
  requireSameTopic(plan, access.topics);
}

export async function destinationOf(
  { admin, binding: { name, groupId } }: LedgerAccess,
  { target, targetTopic }: Pick<RedrivePlan, 'target' | 'targetTopic'>,
): Promise<PartitionReplayParts['destination']> {
  const [topic] = await admin.topics([targetTopic]);
  if (!topic)
    throw new RedriveRefusedException(
      name,
      `topic '${targetTopic}' does not exist. Create it, or choose another target.`,
    );
  return {
    reader:
      typeof target === 'object' && 'topic' in target ? undefined : { binding: name, groupId },
    topic: targetTopic,
    tier: typeof target === 'object' && 'tier' in target ? target.tier : undefined,
    partitions: topic.partitions.length,
  };
}
