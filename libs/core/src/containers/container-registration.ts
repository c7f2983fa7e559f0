import type { ResolvedBinding } from '../config/resolving/resolved-binding.js';
import type { PendingAlerts } from '../model/states/pending-alerts.js';
import type { BindingCounts } from '../model/states/binding-counts.js';
import type { CircuitBreaker } from '../model/states/circuit-breaker.js';
import type { ContainerOperation } from '../errors/container-errors.js';
import type { ContainerState } from '../model/states/container-state.js';
import type { PauseReason } from '../consuming/pauses/pause-reason.js';
import type { PublishProblems } from '../model/outcomes/publish-problems.js';
import type { HalfOpenBlocker } from '../model/states/half-open-blocker.js';
import type { MessageContainer } from './message-container.js';

/** Where the circuit breaker of a binding is: one object for its main container and all its tiers. */
export interface CircuitBreakerSlot {
  /** undefined where the binding has none. */
  readonly current: CircuitBreaker | undefined;
}

/** The reasons that make a whole binding PAUSED. The others concern a partition, or pass by themselves. */
export type BindingPause = Extract<PauseReason, 'operator' | 'circuit' | 'routing'>;

export interface LastCommand {
  readonly operation: ContainerOperation;
  readonly reason: string | undefined;
  readonly by: string | undefined;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** A binding that is known to the bus. The record never changes: ContainerRegistry replaces it. */
export interface ContainerRegistration {
  readonly bindingName: string;
  readonly cluster: string;
  /** `cluster:name`. */
  readonly key: string;
  readonly config: ResolvedBinding;
  readonly mainContainer: MessageContainer;
  readonly retryTierContainers: readonly MessageContainer[];
  readonly circuitBreaker: CircuitBreakerSlot;
  /** Left out where nothing writes failed records anywhere. */
  readonly publishProblems: PublishProblems | undefined;
  /** Left out where nobody is told of dead letters. */
  readonly alerts: PendingAlerts | undefined;
  /** Left out where the binding has no circuit breaker. */
  readonly halfOpenBlocker: HalfOpenBlocker | undefined;
  /** Left out where nobody counts. */
  readonly counts: BindingCounts | undefined;
  readonly state: ContainerState;
  /** When it came into this state: milliseconds since 1970. */
  readonly since: number;
  readonly pauses: readonly BindingPause[];
  readonly lastCommand: LastCommand | undefined;
  /** Why it could not do what it was last told: to start. */
  readonly startFailure: Error | undefined;
}

export function containersOf({
  mainContainer,
  retryTierContainers,
}: ContainerRegistration): readonly MessageContainer[] {
  return [mainContainer, ...retryTierContainers];
}

/** What a command answers. */
export interface BindingSnapshot {
  readonly binding: string;
  readonly cluster: string;
  readonly state: ContainerState;
  readonly since: number;
  /** Not empty while the state is PAUSED. */
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
