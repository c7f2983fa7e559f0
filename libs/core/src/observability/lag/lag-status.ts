import { errorReasonOf, type TopicPartition } from '@nest-event-bus/broker';
import type { ContainerRegistration } from '../../containers/container-registration.js';
import type { ContainerStatus } from '../../containers/health/container-status.js';
import type { LagStatus } from '../../model/states/lag.js';
import type { HeadRecord, LaneView } from '../../model/states/lane-view.js';
import type { CommitWindow } from './commit-window.js';

export interface StatusFacts extends TopicPartition {
  readonly records: number;
  readonly window: CommitWindow;
  readonly registration: ContainerRegistration;
  readonly container: ContainerStatus;
  /** Undefined if no session of this process owns the partition. */
  readonly lane: LaneView | undefined;
  readonly now: number;
}

/** A status, and the sentence that explains it. */
export type Finding = readonly [LagStatus, cause: string | undefined];

type Rule = (facts: StatusFacts) => Finding | undefined;

const OK: Finding = ['OK', undefined];

/** The first rule that has a finding decides. */
const RULES: readonly Rule[] = [
  hasNoLag,
  wentBack,
  isNotLive,
  isPaused,
  cannotConsume,
  waitsForDecision,
  hasStuckHandler,
  stands,
  grows,
];

/** Says how a group gets on in a partition, by its commits and by what this process knows. */
export function lagStatus(facts: StatusFacts): Finding {
  for (const rule of RULES) {
    const finding = rule(facts);
    if (finding) return finding;
  }
  return OK;
}

function hasNoLag({ records }: StatusFacts): Finding | undefined {
  return records === 0 ? OK : undefined;
}

function wentBack({ window }: StatusFacts): Finding | undefined {
  const { progress } = window;
  if (progress.kind !== 'rewound') return undefined;
  const { from, to } = progress;
  return ['REWIND', `the committed offset went back from ${from} to ${to}: records are read again`];
}

/** A group that another process keeps going is no concern of a binding that is stopped here. */
function isNotLive({ registration, window }: StatusFacts): Finding | undefined {
  const { state, startFailure } = registration;
  if (state === 'RUNNING' || state === 'PAUSED' || window.isCommitting) return undefined;
  if (startFailure) return ['STOPPED', `it could not start: ${errorReasonOf(startFailure)}`];
  return ['STOPPED', `the binding is ${state}${note(registration)}. Start it`];
}

function isPaused({ registration, container, lane }: StatusFacts): Finding | undefined {
  if (!lane) return undefined;
  const { pauses } = container;
  if (pauses.includes('circuit'))
    return ['CIRCUIT_OPEN', 'the circuit is open. Look at what the handler depends on'];
  if (pauses.includes('operator'))
    return ['PAUSED', `paused by an operator${note(registration)}. Resume it`];
  if (pauses.includes('routing'))
    return ['PAUSED', `paused by exceptionRouting${note(registration)}. Resume it after a repair`];
  if (pauses.includes('tier')) return ['PAUSED', 'its retry tier is paused'];
  return undefined;
}

function cannotConsume({ container, window }: StatusFacts): Finding | undefined {
  if (!('error' in container) || window.isCommitting) return undefined;
  return ['STALLED', `its session is ${container.state}: ${errorReasonOf(container.error)}`];
}

function waitsForDecision(facts: StatusFacts): Finding | undefined {
  const pause = pauseOf(facts);
  if (!pause?.reasons.includes('strict')) return undefined;
  const at = pause.undecidedOffset === undefined ? '' : ` at offset ${pause.undecidedOffset}`;
  return ['STALLED', `${name(facts)} waits for a decision about the record${at}`];
}

function hasStuckHandler(facts: StatusFacts): Finding | undefined {
  const head = facts.lane?.head;
  if (head?.runningSince === undefined) return undefined;
  const { stuckHandlerMs } = facts.registration.config;
  return facts.now - head.runningSince >= stuckHandlerMs
    ? ['STALLED', runningHandler(facts, head)]
    : undefined;
}

function stands(facts: StatusFacts): Finding | undefined {
  const { window, lane, now } = facts;
  const { progress } = window;
  if (progress.kind !== 'standing') return undefined;
  if (lane?.waitsForDueTime) return ['OK', 'its first record is not due yet'];
  const since = `nothing was committed for ${seconds(progress.overMs)}`;
  if (!lane) return ['STALLED', `${since}, and no session of this process owns the partition`];
  const { head } = lane;
  if (head?.runningSince !== undefined && now > head.runningSince)
    return ['STALLED', runningHandler(facts, head)];
  if (head && head.failures > 0)
    return ['STALLED', `${place(facts, head)} has failed and is delivered again; ${since}`];
  const reasons = pauseOf(facts)?.reasons ?? [];
  return ['STALLED', reasons.length > 0 ? `it waits (${reasons.join(', ')}); ${since}` : since];
}

function grows({ window, records }: StatusFacts): Finding | undefined {
  const { progress } = window;
  if (progress.kind !== 'growing') return undefined;
  const { from, overMs } = progress;
  return ['WARNING', `the lag has grown from ${from} to ${records} in ${seconds(overMs)}`];
}

function pauseOf({ container, topic, partition }: StatusFacts) {
  return container.partitionPauses.find(
    (pause) => pause.topic === topic && pause.partition === partition,
  );
}

function note({ lastCommand }: ContainerRegistration): string {
  if (!lastCommand) return '';
  const { by, reason } = lastCommand;
  return `${by === undefined ? '' : ` by ${by}`}${reason === undefined ? '' : ` (${reason})`}`;
}

function runningHandler(facts: StatusFacts, head: HeadRecord): string {
  const runningMs = facts.now - (head.runningSince ?? facts.now);
  return `a handler has been running for ${seconds(runningMs)} on ${place(facts, head)}`;
}

const name = ({ topic, partition }: TopicPartition): string => `${topic}-${partition}`;

const place = (partition: TopicPartition, { offset }: HeadRecord): string =>
  `${name(partition)}@${offset}`;

const seconds = (milliseconds: number): string => `${Math.round(milliseconds / 1_000)} s`;
