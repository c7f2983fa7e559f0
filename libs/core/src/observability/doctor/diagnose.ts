import { errorReasonOf, type TopicPartition } from '@nest-event-bus/broker';
import {
  containersOf,
  type ContainerRegistration,
} from '../../containers/container-registration.js';
import type { MessageContainer } from '../../containers/message-container.js';
import type { BindingLag } from '../../model/states/lag.js';

export interface DiagnosisFacts {
  readonly registration: ContainerRegistration;
  /** Undefined if the lag is not known. */
  readonly lag: BindingLag | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
}

type Rule = (facts: DiagnosisFacts) => string | undefined;

/** From the worst cause to the mildest. The first rule that finds something decides. */
const RULES: readonly Rule[] = [
  couldNotStart,
  isStopped,
  cannotWrite,
  hasOverdueHandler,
  cannotConsume,
  hasOpenCircuit,
  isPaused,
  waitsForDecision,
  hasStuckHandler,
  waitsAfterFailure,
  hasProblem,
  isBehind,
  hasDeadLetters,
];

/** Says in one sentence what is wrong with a binding, and in another one what to do. */
export function diagnose(facts: DiagnosisFacts): string {
  const { bindingName } = facts.registration;
  for (const rule of RULES) {
    const finding = rule(facts);
    if (finding) return `${bindingName}: ${finding}`;
  }
  return `${bindingName}: it reads, and nothing is wrong. Nothing to do.`;
}

function couldNotStart({ registration }: DiagnosisFacts): string | undefined {
  const { startFailure, state } = registration;
  if (!startFailure || isLive(state)) return undefined;
  return `it could not start: ${sentence(errorReasonOf(startFailure))} Repair that, and start the binding.`;
}

function isStopped({ registration, lag }: DiagnosisFacts): string | undefined {
  const { state, lastCommand } = registration;
  if (isLive(state)) return undefined;
  const by = lastCommand?.by === undefined ? '' : ` by ${lastCommand.by}`;
  const why = lastCommand?.reason === undefined ? '' : ` (${lastCommand.reason})`;
  const waiting = lag ? `, and ${lag.records} record(s) wait` : '';
  return `it is ${state}${by}${why}${waiting}. Start it when it is to read.`;
}

function cannotWrite({ registration: { publishProblems } }: DiagnosisFacts): string | undefined {
  const problem = publishProblems?.all[0];
  if (!problem) return undefined;
  return `failed records wait, because topic '${problem.topic}' cannot be written to: ${sentence(errorReasonOf(problem.error))} Create the topic, or grant WRITE on it.`;
}

function hasOverdueHandler({ registration, now }: DiagnosisFacts): string | undefined {
  const { maxPollIntervalMs } = registration.config;
  const container = containersOf(registration).find(
    ({ status: { oldestHandlerSince: since } }) =>
      since !== undefined && now - since > maxPollIntervalMs,
  );
  if (!container) return undefined;
  return `a handler has been running for ${runningFor(container, now)}${headOf(container)}, longer than maxPollIntervalMs. Let it end when context.signal aborts, or raise maxPollIntervalMs.`;
}

function cannotConsume({ registration, now }: DiagnosisFacts): string | undefined {
  const container = containersOf(registration).find(
    ({ status, tier }) =>
      status.state !== 'joined' &&
      status.state !== 'draining' &&
      !(tier > 0 && status.state === 'topic-missing'),
  );
  if (!container) return undefined;
  const { status, topic } = container;
  const { provisioning } = registration.config;
  switch (status.state) {
    case 'topic-missing':
      return provisioning === 'create'
        ? `topic '${topic}' does not exist, and could not be created. Look in the log for the reason.`
        : `topic '${topic}' does not exist. Create it, correct its name, or set provisioning: 'create'.`;
    case 'failed':
      return `${sentence(errorReasonOf(status.error))} Give each process a groupInstanceId of its own, then stop and start the binding.`;
    case 'retrying':
      return `it cannot reach its cluster: ${sentence(errorReasonOf(status.error))} Check the brokers, the network and the credentials.`;
    default:
      return `it has been joining its group for ${seconds(now - status.since)}. Wait; if that goes on, look for members of the group that do not answer.`;
  }
}

function hasOpenCircuit({ registration: { circuitBreaker } }: DiagnosisFacts): string | undefined {
  return circuitBreaker.current?.state === 'OPEN'
    ? 'its circuit is open, because too many calls failed or were slow. Repair what the handler depends on; the circuit closes by itself.'
    : undefined;
}

function isPaused({ registration, lag }: DiagnosisFacts): string | undefined {
  const { pauses, lastCommand } = registration;
  const waiting = lag ? `, and ${lag.records} record(s) wait` : '';
  if (pauses.includes('operator')) {
    const by = lastCommand?.by === undefined ? 'an operator' : lastCommand.by;
    const why = lastCommand?.reason === undefined ? '' : ` (${lastCommand.reason})`;
    return `it was paused by ${by}${why}${waiting}. Resume it.`;
  }
  if (pauses.includes('routing'))
    return `it was paused by exceptionRouting${waiting}. Repair the cause, then resume it.`;
  const tier = containersOf(registration).find(({ status }) => status.pauses.includes('tier'));
  return tier && `retry tier ${tier.tier} is paused. Resume the tier.`;
}

function waitsForDecision({ registration }: DiagnosisFacts): string | undefined {
  const pause = pausesOf(registration).find(({ reasons }) => reasons.includes('strict'));
  if (!pause) return undefined;
  const record = pause.undecidedOffset === undefined ? '' : ` at offset ${pause.undecidedOffset}`;
  return `${nameOf(pause)} waits for a decision about the record${record}. Decide: retry, dead-letter or skip.`;
}

function hasStuckHandler({ registration, now }: DiagnosisFacts): string | undefined {
  const container = containersOf(registration).find(({ status }) => status.stuckHandlers > 0);
  if (!container) return undefined;
  return `a handler has been running for ${runningFor(container, now)}${headOf(container)}. Look at what it waits for, or raise stuckHandlerMs.`;
}

function waitsAfterFailure({ registration }: DiagnosisFacts): string | undefined {
  const pause = pausesOf(registration).find(
    ({ reasons, error }) => reasons.includes('backoff') || (reasons.length === 0 && error),
  );
  if (!pause) return undefined;
  return pause.reasons.length > 0
    ? `${nameOf(pause)} waits after a failure, and delivers its record again. Look in the failure log for the error.`
    : `${nameOf(pause)} cannot be read on. Look in the log for the error of the partition.`;
}

function hasProblem({ registration: { problems } }: DiagnosisFacts): string | undefined {
  const [problem] = problems.all;
  return problem && `${sentence(problem.reason)} The log has the details.`;
}

const LAG_REMEDIES: Readonly<Partial<Record<BindingLag['status'], string>>> = {
  WARNING: 'Add partitions and members, or make the handler faster.',
  STALLED: 'Look at the handler, and at the other members of the group.',
  REWIND: 'Nothing to do if somebody has reset the offset; else look who commits to this group.',
};

function isBehind({ lag }: DiagnosisFacts): string | undefined {
  const group = lag && [lag.main, ...lag.tiers].find(({ status }) => status in LAG_REMEDIES);
  if (!group) return undefined;
  return `${group.records} record(s) of ${group.topic} wait: ${sentence(group.cause ?? group.status)} ${LAG_REMEDIES[group.status]}`;
}

function hasDeadLetters({ lag }: DiagnosisFacts): string | undefined {
  const letters = lag?.deadLetters;
  if (!letters || letters.records === 0) return undefined;
  const { records, topic, oldestSeconds, isExact } = letters;
  const age =
    oldestSeconds === undefined ? '' : `, the oldest for ${seconds(oldestSeconds * 1_000)}`;
  return `it reads, but ${isExact ? '' : 'up to '}${records} dead letter(s) are open in ${topic}${age}. Replay them, or mark them as permanently failed.`;
}

const isLive = (state: ContainerRegistration['state']): boolean =>
  state === 'RUNNING' || state === 'PAUSED';

const pausesOf = (registration: ContainerRegistration) =>
  containersOf(registration).flatMap(({ status }) => status.partitionPauses);

const nameOf = ({ topic, partition }: TopicPartition): string => `${topic}-${partition}`;

function runningFor({ status }: MessageContainer, now: number): string {
  return seconds(now - (status.oldestHandlerSince ?? now));
}

/** Names the record that holds the handler that has been running longest. */
function headOf({ lanes }: MessageContainer): string {
  const running = lanes.filter(({ head }) => head?.runningSince !== undefined);
  const [first] = running.toSorted(
    (one, other) => (one.head?.runningSince ?? 0) - (other.head?.runningSince ?? 0),
  );
  return first?.head ? ` on ${nameOf(first)}@${first.head.offset}` : '';
}

const seconds = (milliseconds: number): string => `${Math.round(milliseconds / 1_000)} s`;

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);
