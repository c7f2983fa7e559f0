import type { DriverLogger, TopicPartition } from '@nest-event-bus/broker';
import { within, type Runtime } from '@nest-event-bus/broker/runtime';
import {
  BindingNotFoundException,
  ContainerUnresponsiveException,
  InvalidContainerStateException,
} from '../../errors/container-errors.js';
import type { ShutdownGate } from './shutdown-gate.js';
import { containersOf, type ContainerRegistration } from '../container-registration.js';
import type { ContainerRegistry } from '../container-registry.js';
import { failuresOf } from './collect-failures.js';
import type { LifecycleManager } from '../lifecycle/lifecycle-manager.js';
import type { MessageContainer } from '../message-container.js';

/** For leaving the groups after the drain. */
const CLOSE_TIMEOUT_MS = 15_000;

export interface ShutdownOptions {
  readonly registry: ContainerRegistry;
  readonly lifecycle: LifecycleManager;
  readonly shutdownGate: ShutdownGate;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
  /** For the running handlers of all bindings together. */
  readonly drainTimeoutMs: () => number;
}

export interface BindingShutdown {
  readonly binding: string;
  readonly cluster: string;
  /** False when handlers were still running, or nobody can tell; their records are delivered again. */
  readonly complete: boolean;
  /** Positions only, never a payload. */
  readonly abandoned: readonly (TopicPartition & { readonly offset: number })[];
  readonly errors: readonly Error[];
}

export interface ShutdownReport {
  readonly durationMs: number;
  /** Everything was finished, committed and left. */
  readonly complete: boolean;
  readonly bindings: readonly BindingShutdown[];
}

/**
 * 1 refuse what is new, 2 pause everything, 3 wait for running handlers, 4 commit, 5 leave the
 * groups, and meanwhile let the alerts of dead letters end: what they are sent with is closed
 * next. Producers stay open: requests that are still being answered may publish. Each binding
 * goes through 2 to 5 by itself, so that one whose broker is gone does not eat the time of the
 * others. It never rejects: what failed is in the report.
 */
export class ShutdownCoordinator {
  #draining: Promise<ShutdownReport> | undefined;

  constructor(private readonly options: ShutdownOptions) {}

  /** Every call gets the same report, whoever comes first. */
  drain(): Promise<ShutdownReport> {
    this.#draining ??= this.#shutDown();
    return this.#draining;
  }

  async #shutDown(): Promise<ShutdownReport> {
    const { shutdownGate, registry, runtime } = this.options;
    const startedAt = runtime.monotonic();
    shutdownGate.close();
    const bindings = await Promise.all(
      registry.listAll().map((registration) => this.#shutDownBinding(registration, startedAt)),
    );
    return this.#logErrors({
      durationMs: runtime.monotonic() - startedAt,
      complete: bindings.every((one) => one.complete && one.errors.length === 0),
      bindings,
    });
  }

  async #shutDownBinding(
    registration: ContainerRegistration,
    startedAt: number,
  ): Promise<BindingShutdown> {
    const containers = containersOf(registration);
    const drains = await Promise.all(
      containers.map((container) => this.#pauseAndDrain(container, startedAt)),
    );
    const alerting = failuresOf([() => this.#waitForAlerts(registration, startedAt)]);
    const closing = await failuresOf([() => this.#destroy(registration)]);
    // If the command did not come through, the sessions are closed all the same.
    const forced =
      closing.length === 0
        ? []
        : await failuresOf(containers.map((container) => () => container.close()));
    return {
      binding: registration.bindingName,
      cluster: registration.cluster,
      complete: drains.every(({ complete }) => complete),
      abandoned: drains.flatMap(({ abandoned }) => abandoned),
      errors: unique([
        ...drains.flatMap(({ errors }) => errors),
        ...closing,
        ...forced,
        ...(await alerting),
      ]),
    };
  }

  async #pauseAndDrain(
    container: MessageContainer,
    startedAt: number,
  ): ReturnType<MessageContainer['drain']> {
    const pausing = await failuresOf([
      () =>
        this.#withTimeout(
          container.id,
          'pause',
          this.#remaining(startedAt),
          container.pause('shutdown'),
        ),
    ]);
    const drained = await container.drain(this.#remaining(startedAt));
    return { ...drained, errors: [...pausing, ...drained.errors] };
  }

  async #destroy(registration: ContainerRegistration): Promise<void> {
    const { bindingName: name, cluster } = registration;
    const destroyed = this.options.lifecycle.destroy(
      { cluster, name },
      { reason: 'shutdown', by: 'event-bus' },
    );
    try {
      await this.#withTimeout(registration.mainContainer.id, 'close', CLOSE_TIMEOUT_MS, destroyed);
    } catch (error) {
      if (!isAlreadyDestroyed(error)) throw error;
    }
  }

  async #waitForAlerts(
    { alerts, mainContainer }: ContainerRegistration,
    startedAt: number,
  ): Promise<void> {
    if (!alerts || alerts.count === 0) return;
    const patienceMs = this.#remaining(startedAt);
    await this.#withTimeout(mainContainer.id, 'end its alerts', patienceMs, alerts.whenEnded());
  }

  #remaining(startedAt: number): number {
    const { runtime, drainTimeoutMs } = this.options;
    return Math.max(0, startedAt + drainTimeoutMs() - runtime.monotonic());
  }

  #withTimeout<T>(
    who: string,
    operation: string,
    patienceMs: number,
    work: Promise<T>,
  ): Promise<T> {
    return within(
      this.options.runtime,
      patienceMs,
      work,
      () => new ContainerUnresponsiveException(who, operation, patienceMs),
    );
  }

  #logErrors(report: ShutdownReport): ShutdownReport {
    const { logger } = this.options;
    for (const { binding, cluster, errors } of report.bindings)
      if (errors.length > 0)
        logger.warn('A binding did not shut down cleanly; what was not committed comes again', {
          binding,
          cluster,
          errors: errors.map(({ message }) => message),
        });
    return report;
  }
}

/** An operator destroyed it at the same time. */
function isAlreadyDestroyed(error: unknown): boolean {
  return (
    error instanceof BindingNotFoundException ||
    (error instanceof InvalidContainerStateException && error.currentState === 'DESTROYED')
  );
}

/** The drain's failures come back with the destroy that follows it. */
function unique(errors: readonly Error[]): readonly Error[] {
  return [...new Set(errors)];
}
