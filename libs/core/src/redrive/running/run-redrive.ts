import { errorReasonOf } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import { RedriveRefusedException } from '../../errors/redrive-errors.js';
import { beginCanary } from '../canary/begin-canary.js';
import type { RedriveParts } from '../ledger/ledger-access.js';
import { requireLastingLedger } from '../ledger/ledger-policy.js';
import type { BrakeEntry } from '../ledger/ledger-entry.js';
import type { OperationLog } from '../ledger/operation-log.js';
import type { StoredOperation } from '../ledger/operation-state.js';
import { OperationWatch } from '../ledger/operation-watch.js';
import { isHeld } from '../pacing/brake-entries.js';
import { Pacing } from '../pacing/pacing.js';
import { brakeLimitsOf, rampOf } from '../pacing/pacing-options.js';
import { ReplayRate } from '../pacing/replay-rate.js';
import { ReturnedLetters } from '../pacing/returned-letters.js';
import { targetLag, type LagTarget } from '../pacing/target-lag.js';
import { LetterSelection } from '../planning/letter-selection.js';
import type { RunOptions } from '../redrive-request.js';
import { nextStepOf } from './next-step.js';
import {
  destinationOf,
  requireRunnable,
  requireStored,
  type OperationAccess,
  type RunControl,
} from './redrive-operations.js';
import type { ReplayDestination } from './replayed-record.js';
import { RedriveNews } from './redrive-news.js';
import { runReport, type RedriveReport } from './redrive-report.js';
import { RedriveRunner } from './redrive-runner.js';

/** Runs a plan until it is done, rejected by its canary, cancelled, or the signal aborts. */
export async function runRedrive(
  parts: RedriveParts,
  access: OperationAccess,
  planId: string,
  options: RunOptions,
  { signal, onProgress }: RunControl,
): Promise<RedriveReport> {
  const { events, logger, runtime } = parts;
  const { admin, binding, driver, operations, topics } = access;
  await requireLastingLedger(parts, access);
  const watch = new OperationWatch({ admin, topics }, planId);
  await watch.readAll();
  const operation = requireStored(watch.state, access, planId);
  const { plan } = operation;
  requireRunnable(plan, access, operation.control?.command);
  requireNotRejected(operation);
  requireKnownReader(plan, options);
  const by = options.by ?? plan.createdBy;
  const at = runtime.now();
  operation.canary = await beginCanary(operation, options.canary, operations, { by, at });
  await operations.saveControl(planId, { command: 'run', by, at });
  await forgetLeftBrakes(operation, operations, runtime);
  const destination = await destinationOf(access, plan);
  const news = new RedriveNews({ plan, by, events, runtime, logger });
  const rate = new ReplayRate(runtime, options.rate);
  const pacing = pacingOf(parts, access, { operation, destination, options, rate, news, signal });
  const { filter, maxReplays } = plan;
  const selection = new LetterSelection({ owner: binding, filter, maxReplays });
  const runner = new RedriveRunner({
    ...{ operation, watch, operations, pacing, news, onProgress, runtime, logger, signal },
    replay: {
      ...{ admin, driver, logger, plan, runtime, topics, rate, destination, selection, by },
    },
  });
  news.started(runReport(operation, 'running', runtime.now()));
  try {
    const { report, state } = await runner.run();
    news.ended(report, state);
    return report;
  } finally {
    await pacing.close();
  }
}

/** Deletes the brakes of processes that were killed: of other hosts, and of this one. */
async function forgetLeftBrakes(
  operation: StoredOperation,
  operations: OperationLog,
  runtime: Pick<Runtime, 'hostname' | 'now'>,
): Promise<void> {
  const [here, now] = [runtime.hostname(), runtime.now()];
  for (const [node, brake] of operation.brakes)
    if (node === here || !isHeld(brake, now)) {
      operation.brakes.delete(node);
      await operations.forgetBrake(operation.id, node);
    }
}

interface PacingContext {
  readonly operation: StoredOperation;
  readonly destination: ReplayDestination;
  readonly options: RunOptions;
  readonly rate: ReplayRate;
  readonly news: RedriveNews;
  readonly signal: AbortSignal;
}

function pacingOf(
  { circuitOf, logger, runtime }: RedriveParts,
  access: OperationAccess,
  { operation, destination, options, rate, news, signal }: PacingContext,
): Pacing {
  const { admin, binding, operations } = access;
  const { id, plan } = operation;
  const node = runtime.hostname();
  // The brake works without its entry, which only other processes read.
  const notWritten = (error: unknown): void =>
    logger.warn('The brake of a redrive is not in the ledger, so other processes do not show it', {
      ...{ binding: binding.name, operation: id, reason: errorReasonOf(error) },
    });
  const save = async (entry: Omit<BrakeEntry, 'kind'>): Promise<void> => {
    operation.brakes.set(node, { kind: 'brake', ...entry });
    await operations.saveBrake(id, entry).catch(notWritten);
  };
  return new Pacing({
    ...{ binding: binding.name, rate, runtime, logger },
    limits: brakeLimitsOf(options.brakes),
    ramp: rampOf(options.ramp),
    returned: new ReturnedLetters({ admin, owner: binding, plan, runtime, signal }),
    // The circuit protects the handler, which gets no record of another topic.
    isCircuitOpen: () => destination.reader !== undefined && circuitOf(binding) === 'OPEN',
    lag: () => targetLag(admin, lagTargetOf(access, operation)),
    onBraked: async (brake) => {
      news.braked(brake);
      await save({ ...brake, node, at: runtime.now() });
    },
    onHeld: async (brake, heldForMs) => {
      const now = runtime.now();
      await save({ ...brake, node, at: now - heldForMs, confirmedAt: now });
    },
    onReleased: async (brake, heldForMs) => {
      operation.brakes.delete(node);
      news.resumed(brake, heldForMs);
      await operations.forgetBrake(id, node).catch(notWritten);
    },
  });
}

/** Who reads another topic is not known, so neither are its lag and the outcomes of its records. */
function requireKnownReader(
  { binding, target, targetTopic }: StoredOperation['plan'],
  { brakes, canary }: RunOptions,
): void {
  if (target === 'origin' || 'tier' in target) return;
  const refused = canary === undefined ? brakes?.lag && 'brakes.lag' : 'canary';
  if (refused)
    throw new RedriveRefusedException(
      binding,
      `topic '${targetTopic}' is not read by the binding, so option ${refused} would wait for what nobody reports. Run it without, with a low rate.`,
    );
}

/** A tier is read by a group of its own. */
function lagTargetOf({ binding }: OperationAccess, { plan }: StoredOperation): LagTarget {
  const tier = binding.retry.tiers.find(({ topic }) => topic === plan.targetTopic);
  return { topic: plan.targetTopic, groupId: tier?.groupId ?? binding.groupId };
}

function requireNotRejected(operation: StoredOperation): void {
  const step = nextStepOf(operation);
  if (step.kind === 'end' && step.state === 'rejected')
    throw new RedriveRefusedException(
      operation.plan.binding,
      'its canary was bad. Make a new plan for what is left.',
    );
}
