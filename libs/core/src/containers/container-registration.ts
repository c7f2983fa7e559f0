import type { ResolvedBinding } from '../config/resolving/resolved-binding.js';
import type { PendingAlerts } from '../model/states/pending-alerts.js';
import type { BindingCounts } from '../model/states/binding-counts.js';
import type { CircuitBreaker } from '../model/states/circuit-breaker.js';
import type { ContainerOperation } from '../errors/container-errors.js';
import type { ContainerState } from '../model/states/container-state.js';
import type { PauseReason } from '../consuming/pauses/pause-reason.js';
import type { OngoingProblems } from '../problems/ongoing-problems.js';
import type { PublishProblems } from '../model/outcomes/publish-problems.js';
import type { HalfOpenBlocker } from '../model/states/half-open-blocker.js';
import type { MessageContainer } from './message-container.js';

/** Holds the circuit breaker of a binding. The main container and all tiers share one slot. */
export interface CircuitBreakerSlot {
  /** Circuit breaker; undefined if the binding has none. */
  readonly current: CircuitBreaker | undefined;
}

/**
 * Reasons for which a whole binding is PAUSED. The other reasons concern a partition, or end by
 * themselves.
 */
export type BindingPause = Extract<PauseReason, 'operator' | 'circuit' | 'routing'>;

export interface LastCommand {
  readonly operation: ContainerOperation;
  readonly reason: string | undefined;
  readonly by: string | undefined;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** A binding that the bus knows. The object is immutable: ContainerRegistry replaces it. */
export interface ContainerRegistration {
  readonly bindingName: string;
  readonly cluster: string;
  /** Key of the binding: `cluster:name`. */
  readonly key: string;
  readonly config: ResolvedBinding;
  readonly mainContainer: MessageContainer;
  readonly retryTierContainers: readonly MessageContainer[];
  readonly circuitBreaker: CircuitBreakerSlot;
  /** Topics that cannot be written to; undefined if the binding writes no failed records. */
  readonly publishProblems: PublishProblems | undefined;
  /** Ongoing problems of the binding. Each is logged repeatedly until it is solved. */
  readonly problems: OngoingProblems;
  /** Alert calls that have not ended; undefined if the binding has no alert handler. */
  readonly alerts: PendingAlerts | undefined;
  /** Record that keeps the circuit half open; undefined if the binding has no circuit breaker. */
  readonly halfOpenBlocker: HalfOpenBlocker | undefined;
  /** Counters; undefined if metrics are disabled. */
  readonly counts: BindingCounts | undefined;
  readonly state: ContainerState;
  /** Start of this state, in milliseconds since 1970. */
  readonly since: number;
  readonly pauses: readonly BindingPause[];
  readonly lastCommand: LastCommand | undefined;
  /** Error of the last start. */
  readonly startFailure: Error | undefined;
}

export function containersOf({
  mainContainer,
  retryTierContainers,
}: ContainerRegistration): readonly MessageContainer[] {
  return [mainContainer, ...retryTierContainers];
}

/** Result of a command. */
export interface BindingSnapshot {
  readonly binding: string;
  readonly cluster: string;
  readonly state: ContainerState;
  readonly since: number;
  /** Remaining pauses. Not empty while the state is PAUSED. */
  readonly remainingPauses: readonly BindingPause[];
  readonly lastCommand: LastCommand | undefined;
}

export function snapshotOf(registration: ContainerRegistration): BindingSnapshot {
  const { bindingName, cluster, state, since, pauses, lastCommand } = registration;
  return Object.freeze({
    binding: bindingName,
    cluster,
    state,
    since,
    remainingPauses: pauses,
    lastCommand,
  });
}
