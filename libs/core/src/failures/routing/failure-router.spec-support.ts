import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import type { ResolvedBinding, ResolvedTier } from '../../config/resolving/resolved-binding.js';
import type { Delivery } from '../../model/outcomes/delivery.js';
import type { EventBusEventName } from '../../model/events/event-bus-events.js';
import { ExceptionRoutingDecision } from '../../model/outcomes/exception-routing-decision.js';
import type { Failure } from '../../model/outcomes/failed-outcome.js';
import type { FailureReport } from '../../model/outcomes/failure-report.js';
import { aDelivery, type GivenDelivery } from '../../model/outcomes/outcomes.spec-support.js';
import type { CircuitState } from '../../model/states/circuit-breaker.js';
import type { FailureClassification } from '../classification/binding-classifier.js';
import { recordOf } from '../report/failure-report-samples.spec-support.js';
import { FailureRouter } from './failure-router.js';

export const tierOf = (number: number) =>
  ({
    number,
    topic: `t-${number}`,
    maxAttempts: 2,
    delayMs: 1_000,
    multiplier: 2,
    maxDelayMs: 60_000,
  }) as ResolvedTier;

/** A delivery of the sample record. */
export const delivery = (given: GivenDelivery = {}): Delivery =>
  aDelivery({ record: recordOf(), ...given });

/** A failure after three calls, without further calls, unless `given` says otherwise. */
export const failed = (given: Partial<Failure> = {}): Failure => ({
  kind: 'failed',
  reason: 'retry-exhausted',
  error: new Error('down'),
  attempts: 3,
  ...given,
});

export const dependencyIsDown = (): Error =>
  Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });

/** Dependencies of a router: the facts by which it decides, and a log of its actions. */
export class RouterTestBed {
  classification: FailureClassification = {
    decision: ExceptionRoutingDecision.nextTier(),
    isExplicit: false,
    isPermanent: false,
  };
  /** State of the circuit; undefined if the binding has no circuit breaker. */
  circuit: CircuitState | undefined;
  publish: () => Promise<void> = async () => undefined;
  accept: () => Promise<'stored' | 'discarded'> = async () => 'stored';
  readonly sent: string[] = [];
  readonly reports: FailureReport[] = [];
  readonly paused: string[] = [];
  readonly runtime = new VirtualRuntime();
  readonly events: { readonly name: EventBusEventName }[] = [];
  readonly halfOpenCalls: string[] = [];

  router(given: object = {}, tier = 0): FailureRouter {
    const quiet = (): void => undefined;
    const binding = {
      name: 'orders',
      groupId: 'shop',
      listenerType: 'SINGLE',
      orderingMode: 'RELAXED_IN_RETRY',
      strictExhaustion: 'DLT',
      batchFailureStrategy: 'SEEK_TO_FAILED',
      batchRedeliveries: 1,
      circuitBreaker: { minimumNumberOfCalls: 3 },
      retry: { onBudgetExceeded: 'DLT', poisonAfter: 0, tiers: [tierOf(1)] },
      dlt: { exceptionDetail: 'full', topic: 'orders.DLT' },
      ...given,
    } as unknown as ResolvedBinding;
    return new FailureRouter({
      binding,
      tier,
      classifier: { classify: () => this.classification },
      breaker: this.circuit && this.#breaker(),
      halfOpenBlocker: {
        onRecordKept: ({ offset }) => void this.halfOpenCalls.push(`${offset} kept`),
        onRecordRemoved: ({ offset }) => void this.halfOpenCalls.push(`${offset} removed`),
      },
      retries: {
        publish: async ({ totalAttempts }, to) => {
          this.sent.push(`tier ${to.tier}.${to.delivery} after ${totalAttempts}`);
          await this.publish();
        },
      },
      deadLetters: {
        accept: async (report, { reason, cause }, _signal, onDecided) => {
          this.reports.push(report);
          this.sent.push(`${reason} ${cause} after ${report.totalAttempts}`);
          const result = await this.accept();
          onDecided?.(result);
          return result;
        },
      },
      problems: { report: () => undefined },
      pauseBinding: (exceptionClass) => void this.paused.push(exceptionClass),
      events: {
        wants: () => true,
        emit: (name, details) => void this.events.push({ name, ...details }),
      },
      runtime: this.runtime,
      logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    });
  }

  #breaker() {
    const state = (): CircuitState => this.circuit!;
    return {
      get state() {
        return state();
      },
    };
  }
}

export const STRICT = {
  orderingMode: 'STRICT',
  strictExhaustion: 'PAUSE_PARTITION',
  retry: { onBudgetExceeded: 'DLT', poisonAfter: 0, tiers: [] },
};
