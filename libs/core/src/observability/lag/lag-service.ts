import type { BrokerDriver, DriverLogger } from '@nest-event-bus/broker';
import type { Runtime, Timer } from '@nest-event-bus/broker/runtime';
import type { ContainerRegistration } from '../../containers/container-registration.js';
import type { ContainerRegistry } from '../../containers/container-registry.js';
import type { BindingRef } from '../../model/states/binding-ref.js';
import type { BindingLag, LagReader } from '../../model/states/lag.js';
import { ClusterLag, type ClusterLagParts } from './cluster-lag.js';

export interface LagParts {
  readonly registry: Pick<ContainerRegistry, 'listAll' | 'require'>;
  readonly driverOf: (cluster: string) => BrokerDriver;
  readonly openLetters: ClusterLagParts['openLetters'];
  readonly options: () => { readonly enabled: boolean; readonly intervalMs: number };
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

/** Lag of all bindings, in records, in seconds and as a status with its cause. */
export class LagService implements LagReader {
  readonly #clusters = new Map<string, ClusterLag>();
  readonly #listeners = new Set<() => void>();
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(private readonly parts: LagParts) {}

  /** Polls at the interval of `lag.intervalMs` until `close`. */
  start(): void {
    const { enabled, intervalMs } = this.parts.options();
    if (!enabled || this.#isClosed || this.#timer) return;
    const next = (): void => {
      this.#timer = this.parts.runtime.setTimer(
        () => void this.refresh().finally(next),
        intervalMs,
        {
          background: true,
        },
      );
      if (this.#isClosed) this.#timer.cancel();
    };
    next();
  }

  /** Polls all clusters now. Never rejects: `error` of a binding says what went wrong. */
  async refresh(): Promise<void> {
    if (this.#isClosed || !this.parts.options().enabled) return;
    const clusters = new Set(this.parts.registry.listAll().map(({ cluster }) => cluster));
    await Promise.all([...clusters].map((cluster) => this.#clusterOf(cluster).poll()));
    for (const listener of this.#listeners) listener();
  }

  /** Throws for a binding that does not exist. */
  of(ref: BindingRef): BindingLag | undefined {
    const registration = this.parts.registry.require(ref);
    return this.#lagOf(registration);
  }

  all(): readonly BindingLag[] {
    return this.parts.registry.listAll().flatMap((registration) => this.#lagOf(registration) ?? []);
  }

  /** Calls back after each poll. Returns the function that ends the subscription. */
  onPoll(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await Promise.all([...this.#clusters.values()].map((cluster) => cluster.close()));
  }

  #lagOf(registration: ContainerRegistration): BindingLag | undefined {
    return this.#clusters.get(registration.cluster)?.lagOf(registration);
  }

  #clusterOf(cluster: string): ClusterLag {
    const known = this.#clusters.get(cluster);
    if (known) return known;
    const { driverOf, registry, openLetters, runtime, logger } = this.parts;
    const opened = new ClusterLag({
      cluster,
      driver: driverOf(cluster),
      bindings: () => registry.listAll().filter((each) => each.cluster === cluster),
      openLetters,
      intervalMs: () => this.parts.options().intervalMs,
      runtime,
      logger,
    });
    this.#clusters.set(cluster, opened);
    return opened;
  }
}
