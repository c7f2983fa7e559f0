import { errorNameOf, errorReasonOf, PartitionError } from '@nest-event-bus/broker';
import { HandlerRefusedException } from '../../errors/handler-errors.js';
import { SchemaRegistryUnavailableException } from '../../errors/schema-registry-errors.js';
import type { PartitionPause } from '../../consuming/session/consuming-session.js';
import type { ContainerState } from '../../model/states/container-state.js';
import { containersOf, type ContainerRegistration } from '../container-registration.js';
import type { ContainerStatus } from './container-status.js';
import type { MessageContainer } from '../message-container.js';
import { isLive } from '../lifecycle/transitions.js';

export type HealthStatus = 'UP' | 'DEGRADED' | 'DOWN';

/** DISABLED: the options switch the bus off. */
export type BusStatus = HealthStatus | 'DISABLED';

export interface BindingHealth {
  readonly binding: string;
  readonly cluster: string;
  readonly state: ContainerState;
  readonly status: HealthStatus;
  /** Explanations of a status other than UP. */
  readonly reasons: readonly string[];
}

export interface EventBusHealth {
  readonly status: BusStatus;
  readonly isShuttingDown: boolean;
  readonly bindings: readonly BindingHealth[];
}

export const DISABLED: EventBusHealth = Object.freeze({
  status: 'DISABLED',
  isShuttingDown: false,
  bindings: Object.freeze([]),
});

type Finding = readonly [HealthStatus, reason: string];

const FROM_WORST_TO_BEST: readonly HealthStatus[] = ['DOWN', 'DEGRADED', 'UP'];

export function healthOf(
  registrations: readonly ContainerRegistration[],
  isShuttingDown: boolean,
  now: number,
): EventBusHealth {
  const bindings = registrations.map((registration) => bindingHealth(registration, now));
  const all = bindings.map(({ status }) => status);
  return { status: worstOf(isShuttingDown ? ['DOWN', ...all] : all), isShuttingDown, bindings };
}

/**
 * Returns the health of a binding. A binding that is stopped, or was never started, is UP, because
 * an operator or an option asked for that.
 */
function bindingHealth(registration: ContainerRegistration, now: number): BindingHealth {
  const { bindingName, cluster, state, pauses } = registration;
  const paused: readonly Finding[] =
    pauses.length > 0 ? [['DEGRADED', `paused: ${pauses.join(', ')}`]] : [];
  const findings = isLive(state)
    ? [...paused, ...containerFindings(registration, now)]
    : startFindings(registration);
  return {
    binding: bindingName,
    cluster,
    state,
    status: worstOf(findings.map(([status]) => status)),
    reasons: findings.map(([, reason]) => reason),
  };
}

function startFindings({ startFailure }: ContainerRegistration): readonly Finding[] {
  return startFailure ? [['DOWN', `it could not start: ${errorReasonOf(startFailure)}`]] : [];
}

function containerFindings(registration: ContainerRegistration, now: number): readonly Finding[] {
  return [
    ...containersOf(registration).flatMap((container) => [
      ...connectionFindings(container),
      ...tierFindings(container),
      ...partitionFindings(container),
      ...handlerFindings(container, registration.config.maxPollIntervalMs, now),
    ]),
    ...publishFindings(registration),
    ...circuitFindings(registration),
    ...problemFindings(registration),
    ...trialFindings(registration),
  ];
}

/** Reports topics that cannot be written to. Failed records wait until they can. */
function publishFindings({ publishProblems }: ContainerRegistration): readonly Finding[] {
  return (publishProblems?.all ?? []).map(({ topic, error }) => [
    'DOWN',
    `topic '${topic}' cannot be written to: ${errorReasonOf(error)}`,
  ]);
}

/** Reports an open circuit unless it pauses its binding, because health reports the pause itself. */
function circuitFindings({ circuitBreaker }: ContainerRegistration): readonly Finding[] {
  const breaker = circuitBreaker.current;
  if (breaker?.state !== 'OPEN' || breaker.automaticPauseOnOpen) return [];
  const reason =
    'the circuit is open: records fail without a call, and go where failed records go. Look at what the handler depends on';
  return [['DEGRADED', reason]];
}

function problemFindings({ problems }: ContainerRegistration): readonly Finding[] {
  return problems.all.map(({ reason }) => ['DEGRADED', reason]);
}

/**
 * Reports the record that keeps the circuit half open. After a rebalance, the process that owns the
 * partition reports it.
 */
function trialFindings(registration: ContainerRegistration): readonly Finding[] {
  const record = registration.halfOpenBlocker?.record;
  if (!record) return [];
  const { topic, partition, offset } = record;
  const isOurs = containersOf(registration).some(({ status }) =>
    status.assignment.some((each) => each.topic === topic && each.partition === partition),
  );
  return isOurs
    ? [
        [
          'DEGRADED',
          `${topic}-${partition}: offset ${offset} alone has all trial calls of the circuit`,
        ],
      ]
    : [];
}

function connectionFindings({ id, tier, topic, status }: MessageContainer): readonly Finding[] {
  switch (status.state) {
    case 'joined':
    case 'draining':
      return [];
    case 'starting':
    case 'stopped':
      return [['DOWN', `${id} is ${status.state}`]];
    case 'topic-missing':
      // A missing retry topic is no problem until a record has to be retried.
      return tier > 0 ? [] : [['DOWN', `${id}: topic ${topic} does not exist`]];
    case 'retrying':
      return [['DOWN', `${id} is retrying: ${errorReasonOf(status.error)}`]];
    case 'failed':
      return [['DOWN', `${id} has failed${failureReason(status.error)}`]];
  }
}

function failureReason(error: Error): string {
  return `, by ${errorNameOf(error)}: ${errorReasonOf(error)} It stays down until its binding is stopped and started.`;
}

function tierFindings({ id, status }: MessageContainer): readonly Finding[] {
  return status.pauses.includes('tier') ? [['DEGRADED', `${id} is paused`]] : [];
}

function partitionFindings({ id, status }: MessageContainer): readonly Finding[] {
  return status.partitionPauses.flatMap((pause): readonly Finding[] => {
    const why = partitionProblem(pause);
    return why === undefined
      ? []
      : [['DEGRADED', `${id}: ${pause.topic}-${pause.partition} ${why}`]];
  });
}

/** Errors whose message may be shown. The message of a handler's error may quote its record. */
const REPORTED_ERRORS = [
  PartitionError,
  SchemaRegistryUnavailableException,
  HandlerRefusedException,
] as const;

function partitionProblem({ reasons, error, undecidedOffset }: PartitionPause): string | undefined {
  if (reasons.includes('strict') || reasons.includes('backoff')) {
    const what =
      undecidedOffset === undefined ? '' : ` for a decision about offset ${undecidedOffset}`;
    const why = REPORTED_ERRORS.some((kind) => error instanceof kind)
      ? `: ${errorReasonOf(error)}`
      : '';
    return `waits (${reasons.join(', ')})${what}${why}`;
  }
  return reasons.length === 0 && error ? `cannot be read on: ${errorReasonOf(error)}` : undefined;
}

function handlerFindings(
  { id, status }: MessageContainer,
  maxPollIntervalMs: number,
  now: number,
): readonly Finding[] {
  if (isOverdue(status, maxPollIntervalMs, now))
    return [
      ['DOWN', `${id}: a handler runs for longer than maxPollIntervalMs (${maxPollIntervalMs})`],
    ];
  const { stuckHandlers } = status;
  return stuckHandlers > 0
    ? [['DEGRADED', `${id}: ${stuckHandlers} handler(s) run for longer than stuckHandlerMs`]]
    : [];
}

function isOverdue(status: ContainerStatus, allowedMs: number, now: number): boolean {
  return status.oldestHandlerSince !== undefined && now - status.oldestHandlerSince > allowedMs;
}

function worstOf(all: readonly HealthStatus[]): HealthStatus {
  return FROM_WORST_TO_BEST.find((candidate) => all.includes(candidate)) ?? 'UP';
}
