import type { DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { ResolvedBinding, ResolvedTier } from '../config/resolving/resolved-binding.js';
import type { DltHandlerDefinition } from '../discovery/exploring/dlt-handler-definition.js';
import { appliesTo } from '../discovery/exploring/match-handlers.js';
import type { PendingAlerts } from '../model/states/pending-alerts.js';
import type { CircuitBreaker } from '../model/states/circuit-breaker.js';
import type { BindingEventSink } from '../model/events/event-sink.js';
import type { ExceptionClassifier } from '../model/extension-points/handler-interfaces.js';
import { classifierOf } from '../failures/classification/binding-classifier.js';
import { DeadLetters } from '../failures/publishing/dead-letters.js';
import { DltPublisher } from '../failures/publishing/dlt-publisher.js';
import { FailureRouter } from '../failures/routing/failure-router.js';
import { PublishProblemTracker } from '../failures/publishing/publish-problem-tracker.js';
import { RetryPublisher } from '../failures/publishing/retry-publisher.js';
import type { OngoingProblems } from '../problems/ongoing-problems.js';
import type { FailureRouting } from '../pipeline/routing/failure-routing-step.js';
import { RetryTopicFilter } from '../failures/retry-topics/retry-topic-filter.js';
import { HalfOpenBlockerDetector } from '../failures/routing/half-open-blocker-detector.js';
import type { Clusters } from './clusters.js';

/** Failure handling of the application for all its bindings. */
export interface FailureParts {
  readonly classifier: ExceptionClassifier | undefined;
  readonly dltHandlers: readonly DltHandlerDefinition[];
  readonly dltAlerts: readonly DltHandlerDefinition[];
}

export const NO_FAILURE_PARTS: FailureParts = Object.freeze({
  classifier: undefined,
  dltHandlers: [],
  dltAlerts: [],
});

export interface FailureHandlingOptions extends FailureParts {
  readonly binding: ResolvedBinding;
  readonly breaker: CircuitBreaker | undefined;
  readonly events: BindingEventSink;
  readonly clusters: Clusters;
  readonly pauseBinding: (exceptionClass: string) => void;
  readonly problems: OngoingProblems;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

/**
 * Creates the failure handling of one binding. Its main topic and its retry topics share everything
 * except their position.
 */
export class FailureHandlingFactory {
  readonly publishProblems: PublishProblemTracker;
  readonly alerts: PendingAlerts;
  /**
   * Detector of a record that keeps the circuit half open; undefined if the binding has no circuit
   * breaker.
   */
  readonly halfOpenBlocker: HalfOpenBlockerDetector | undefined;
  readonly #shared: Omit<ConstructorParameters<typeof FailureRouter>[0], 'tier'>;

  constructor(private readonly options: FailureHandlingOptions) {
    const { binding, breaker, clusters, pauseBinding, problems, runtime, logger } = options;
    this.publishProblems = new PublishProblemTracker({
      binding: binding.name,
      publishTimeoutMs: binding.dlt.publishTimeoutMs,
      problems,
      events: options.events,
      runtime,
      logger,
    });
    const writing = {
      binding,
      producer: () => clusters.durableProducer(binding.cluster),
      compressingProducer: () => clusters.compressingProducer(binding.cluster),
      publishProblems: this.publishProblems,
      runtime,
      logger,
    };
    const isConcerned = appliesTo(binding);
    const deadLetters = new DeadLetters({
      binding,
      publisher: new DltPublisher(writing),
      handlers: options.dltHandlers.filter(isConcerned),
      alerts: eachOnce(options.dltAlerts.filter(isConcerned)),
      runtime,
      logger,
    });
    this.alerts = deadLetters;
    this.halfOpenBlocker = breaker && new HalfOpenBlockerDetector(binding.name, breaker, logger);
    this.#shared = {
      binding,
      breaker,
      halfOpenBlocker: this.halfOpenBlocker,
      events: options.events,
      pauseBinding,
      problems,
      runtime,
      logger,
      classifier: classifierOf(binding, options.classifier, logger),
      retries: new RetryPublisher(writing),
      deadLetters,
    };
  }

  /** Returns how failures of the main topic, or of a retry topic, are routed. */
  routingOf(tier?: ResolvedTier): FailureRouting {
    const { runtime, logger, binding } = this.options;
    const router = new FailureRouter({ ...this.#shared, tier: tier?.number ?? 0 });
    if (!tier) return { router };
    const { groupId } = binding;
    return { router, retryTopic: new RetryTopicFilter({ tier, groupId, runtime, logger }) };
  }
}

/** Removes duplicates: the same method may be declared for all bindings and for one binding. */
function eachOnce(alerts: readonly DltHandlerDefinition[]): readonly DltHandlerDefinition[] {
  return [...new Map(alerts.map((alert) => [alert.invoke, alert])).values()];
}
