import { type DriverLogger, errorReasonOf, type TopicPartition } from '@nest-event-bus/broker';
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

/** Time that a command of an operator gets if it is under way on a binding. */
const COMMAND_TIMEOUT_MS = 15_000;

export interface ShutdownOptions {
  readonly registry: ContainerRegistry;
  readonly lifecycle: LifecycleManager;
  readonly shutdownGate: ShutdownGate;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
  /** Time for the running handlers of all bindings together. */
  readonly drainTimeoutMs: () => number;
}

export interface BindingShutdown {
  readonly binding: string;
  readonly cluster: string;
  /**
   * False if handlers were still running, or if the result is unknown. Their records are
   * redelivered.
   */
  readonly complete: boolean;
  /** Positions of records that will be redelivered, never a payload. */
  readonly abandoned: readonly (TopicPartition & { readonly offset: number })[];
  readonly errors: readonly Error[];
}

export interface ShutdownReport {
  readonly durationMs: number;
  /** True if every record was finished and committed, and all groups were left. */
  readonly complete: boolean;
  readonly bindings: readonly BindingShutdown[];
}

/**
 * Shuts the bus down. The order of all phases:
 *
 * 1. New bindings, starts and resumes are refused (`ShutdownGate`).
 * 2. Each container closes its sessions. All begin at once, so an unreachable broker takes no time
 *    from other bindings. A session ends in this order (`LaneDrain.drain`, `MemberSession.close`):
 *    a. Its partitions are paused: no handler begins.
 *    b. It waits for running handlers, until the drain time is over.
 *    c. It commits what is done.
 *    d. It leaves its group.
 * 3. Alerts of dead letters end, because the connections that they use are closed next.
 * 4. The bindings are unregistered.
 * 5. `EventBusBootstrap.onApplicationShutdown` closes the producers and drivers. Until then requests
 *    that are still being answered may publish.
 */
export class ShutdownCoordinator {
  #draining: Promise<ShutdownReport> | undefined;

  constructor(private readonly options: ShutdownOptions) {}

  /** Starts the shutdown. Every call returns the same report. */
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
    const drainMs = this.#remaining(startedAt);
    const containers = containersOf(registration);
    const closed = await Promise.all(containers.map((container) => container.close(drainMs)));
    const failures = await failuresOf([
      () => this.#waitForAlerts(registration, startedAt),
      () => this.#forget(registration),
    ]);
    return {
      binding: registration.bindingName,
      cluster: registration.cluster,
      complete: closed.every(({ complete }) => complete),
      abandoned: closed.flatMap(({ abandoned }) => abandoned),
      errors: [...closed.flatMap(({ errors }) => errors), ...failures],
    };
  }

  /** Unregisters the binding, after a command that is under way on it. */
  async #forget({
    bindingName: name,
    cluster,
    mainContainer,
  }: ContainerRegistration): Promise<void> {
    const note = { reason: 'shutdown', by: 'event-bus' };
    const destroyed = this.options.lifecycle.destroy({ cluster, name }, note);
    try {
      await this.#withTimeout(mainContainer.id, 'close', COMMAND_TIMEOUT_MS, destroyed);
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
          errors: errors.map(errorReasonOf),
        });
    return report;
  }
}

/** An operator destroyed the binding at the same time. */
function isAlreadyDestroyed(error: unknown): boolean {
  return (
    error instanceof BindingNotFoundException ||
    (error instanceof InvalidContainerStateException && error.currentState === 'DESTROYED')
  );
}
