import type { AdminBinding, AdminBindingDetails } from '../api/schemas/binding-schemas.js';
import {
  containersOf,
  snapshotOf,
  type BindingSnapshot,
  type ContainerRegistration,
  type LastCommand,
} from '../../containers/container-registration.js';
import type { MessageContainer } from '../../containers/message-container.js';
import type { BindingView } from '../event-bus-admin.js';
import { answerTime } from './answer-time.js';

export function bindingAnswer({
  binding,
  cluster,
  state,
  since,
  remainingPauses,
  lastCommand,
}: BindingSnapshot): AdminBinding {
  return {
    ...{ name: binding, cluster, state, since: answerTime(since), pauses: remainingPauses },
    ...(lastCommand && { lastCommand: commandAnswer(lastCommand) }),
  };
}

export function bindingDetailsAnswer({
  registration,
  health,
  lag,
}: BindingView): AdminBindingDetails {
  const { topic, groupId, dlt } = registration.config;
  return {
    ...bindingAnswer(snapshotOf(registration)),
    topic,
    groupId,
    deadLetterTopic: dlt.topic,
    health: { status: health?.status ?? 'UP', reasons: health?.reasons ?? [] },
    counts: countsAnswer(registration),
    lag: lag ?? null,
    circuit: circuitAnswer(registration),
    containers: containersOf(registration).map(containerAnswer),
  };
}

function commandAnswer({ operation, by, reason, at }: LastCommand): AdminBinding['lastCommand'] {
  return {
    operation,
    at: answerTime(at),
    ...(by !== undefined && { by }),
    ...(reason !== undefined && { reason }),
  };
}

function countsAnswer(registration: ContainerRegistration): AdminBindingDetails['counts'] {
  const all = containersOf(registration).map(({ counts }) => counts);
  const sum = (count: Exclude<keyof (typeof all)[number], 'toJSON'>): number =>
    all.reduce((total, each) => total + each[count], 0);
  return {
    received: sum('received'),
    processed: sum('succeeded'),
    discarded: sum('discarded'),
    retried: sum('retried'),
    deadLettered: sum('deadLettered'),
    failed: sum('failed'),
    handedBack: sum('handedBack'),
    inFlight: sum('inFlight'),
  };
}

function circuitAnswer({ circuitBreaker }: ContainerRegistration): AdminBindingDetails['circuit'] {
  const breaker = circuitBreaker.current;
  if (!breaker) return null;
  const { state, since, figures } = breaker;
  const { calls, failures, slow } = figures;
  return { state, since: answerTime(since), calls, failures, slow };
}

function containerAnswer({
  id,
  topic,
  groupId,
  tier,
  status,
}: MessageContainer): AdminBindingDetails['containers'][number] {
  const { state, since, pauses, partitionPauses, assignment, runningHandlers, stuckHandlers } =
    status;
  return {
    ...{ id, topic, groupId, tier, state, since: answerTime(since), pauses },
    partitionPauses: partitionPauses.map((pause) => ({
      topic: pause.topic,
      partition: pause.partition,
      reasons: pause.reasons,
      ...(pause.undecidedOffset !== undefined && {
        undecidedOffset: String(pause.undecidedOffset),
      }),
    })),
    assignment: assignment.map((each) => ({ topic: each.topic, partition: each.partition })),
    runningHandlers,
    stuckHandlers,
  };
}
