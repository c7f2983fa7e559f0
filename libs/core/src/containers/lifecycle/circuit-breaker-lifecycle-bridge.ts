import { type DriverLogger, errorReasonOf } from '@nest-event-bus/broker';
import {
  BindingNotFoundException,
  InvalidContainerStateException,
} from '../../errors/container-errors.js';
import type { BindingRef } from '../../model/states/binding-ref.js';
import type {
  CircuitBreaker,
  CircuitState,
  CircuitTransition,
} from '../../model/states/circuit-breaker.js';
import type { ContainerRegistration } from '../container-registration.js';
import type { ContainerRegistry, RegistryChange } from '../container-registry.js';
import type { LifecycleManager } from './lifecycle-manager.js';

export interface BridgeOptions {
  readonly registry: Pick<ContainerRegistry, 'onChange'>;
  readonly lifecycle: Pick<LifecycleManager, 'addPause' | 'removePause'>;
  readonly logger: DriverLogger;
}

const BY = 'circuit-breaker';

/**
 * Pauses a binding while its circuit is open, and resumes it when the circuit is half open. The
 * bridge adds and removes only its own pause reason. If a binding is stopped or destroyed, its
 * circuit is reset and the circuit's timer is cancelled.
 */
export class CircuitBreakerLifecycleBridge {
  readonly #subscriptions = new Map<string, () => void>();

  constructor(private readonly options: BridgeOptions) {}

  /** Returns the function that detaches the bridge. */
  attach(): () => void {
    const detach = this.options.registry.onChange((change) => this.#onChange(change));
    return () => {
      detach();
      for (const unsubscribe of this.#subscriptions.values()) unsubscribe();
      this.#subscriptions.clear();
    };
  }

  #onChange({ kind, registration }: RegistryChange): void {
    const breaker = registration.circuitBreaker.current;
    if (!breaker) return;
    switch (kind) {
      case 'registered':
        return this.#watch(registration, breaker);
      case 'updated':
        if (registration.state === 'STOPPED' || registration.state === 'DESTROYED') breaker.reset();
        return;
      case 'unregistered':
        this.#subscriptions.get(registration.key)?.();
        this.#subscriptions.delete(registration.key);
    }
  }

  #watch(registration: ContainerRegistration, breaker: CircuitBreaker): void {
    const { key, bindingName, cluster } = registration;
    const ref = { cluster, name: bindingName };
    const unsubscribe = breaker.onTransition((transition) => {
      this.#logTransition(bindingName, breaker, transition);
      if (breaker.automaticPauseOnOpen) void this.#applyTransition(ref, breaker, transition);
    });
    this.#subscriptions.set(key, unsubscribe);
  }

  /** Commands on one binding run in turn, so they take effect in the order of the transitions. */
  async #applyTransition(
    ref: Exclude<BindingRef, string>,
    breaker: CircuitBreaker,
    { to, cause }: CircuitTransition,
  ): Promise<void> {
    const { lifecycle } = this.options;
    const note = { reason: `circuit ${to}: ${cause}`, by: BY };
    const open = (): Promise<unknown> => lifecycle.removePause(ref, 'circuit', note);
    switch (to) {
      case 'OPEN':
        await this.#run(ref, to, lifecycle.addPause(ref, 'circuit', note));
        // Removes the pause again if the circuit was reset meanwhile: 1. The binding is stopped,
        // which resets the circuit. 2. The binding is started again. 3. This pause takes effect.
        if (breaker.state !== 'OPEN') await this.#run(ref, to, open());
        return;
      case 'HALF_OPEN':
        return this.#run(ref, to, open());
      case 'CLOSED':
        return;
    }
  }

  async #run(
    { name: binding }: Exclude<BindingRef, string>,
    circuit: CircuitState,
    command: Promise<unknown>,
  ): Promise<void> {
    try {
      await command;
    } catch (error) {
      // The binding was stopped or destroyed at the same time, so no session can be paused.
      const isOver =
        error instanceof InvalidContainerStateException ||
        error instanceof BindingNotFoundException;
      this.options.logger[isOver ? 'debug' : 'error'](
        'A binding could not follow its circuit as a whole',
        { binding, circuit, error: errorReasonOf(error) },
      );
    }
  }

  #logTransition(
    binding: string,
    { automaticPauseOnOpen, waitDurationInOpenStateMs }: CircuitBreaker,
    { from, to, cause, figures }: CircuitTransition,
  ): void {
    const context = { binding, from, to, cause, ...figures };
    const { logger } = this.options;
    switch (to) {
      case 'OPEN': {
        const effect = automaticPauseOnOpen
          ? 'the binding is paused, nothing of it is lost'
          : 'its records fail at once, without a call, and go where failed records go';
        return logger.warn(
          `The circuit of binding '${binding}' opened (${cause}): ${effect}. A few records are tried in ${waitDurationInOpenStateMs} ms; look at what its handler depends on.`,
          context,
        );
      }
      case 'HALF_OPEN':
        return logger.info(`The circuit of binding '${binding}' tries a few records`, context);
      case 'CLOSED':
        return logger.info(`The circuit of binding '${binding}' is closed (${cause})`, context);
    }
  }
}
