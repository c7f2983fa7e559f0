import type { DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import { asError } from '../errors/as-error.js';
import {
  AmbiguousBindingException,
  BindingAlreadyExistsException,
  BindingNotFoundException,
} from '../errors/container-errors.js';
import type { ContainerState } from '../model/states/container-state.js';
import { bindingKey, bindingNameOf, type BindingRef } from '../model/states/binding-ref.js';
import type { BindingPause, ContainerRegistration, LastCommand } from './container-registration.js';

/** Changes of a registration. Members that are left out stay as they were. */
export interface StateUpdate {
  readonly state?: ContainerState;
  readonly pauses?: readonly BindingPause[];
  readonly lastCommand?: LastCommand;
  /** undefined removes the error. */
  readonly startFailure?: Error | undefined;
}

export type RegistryChange =
  | { readonly kind: 'registered'; readonly registration: ContainerRegistration }
  | {
      readonly kind: 'updated';
      readonly registration: ContainerRegistration;
      readonly previous: ContainerRegistration;
    }
  | { readonly kind: 'unregistered'; readonly registration: ContainerRegistration };

/**
 * Holds all bindings of this process by `cluster:name`. Only LifecycleManager updates their state.
 */
export class ContainerRegistry {
  readonly #registrations = new Map<string, ContainerRegistration>();
  readonly #listeners = new Set<(change: RegistryChange) => void>();

  constructor(
    private readonly runtime: Pick<Runtime, 'now'>,
    private readonly logger: DriverLogger,
  ) {}

  register(registration: ContainerRegistration): void {
    const { key, bindingName, cluster } = registration;
    if (this.#registrations.has(key)) throw new BindingAlreadyExistsException(bindingName, cluster);
    const frozen = Object.freeze({ ...registration });
    this.#registrations.set(key, frozen);
    this.#emit({ kind: 'registered', registration: frozen });
  }

  /** Removes the binding and returns it. Its containers keep running, and the caller owns them. */
  unregister(ref: BindingRef): ContainerRegistration {
    const registration = this.require(ref);
    this.#registrations.delete(registration.key);
    this.#emit({ kind: 'unregistered', registration });
    return registration;
  }

  /** Finds a binding. A bare name matches on any cluster, and throws if it is ambiguous. */
  get(ref: BindingRef): ContainerRegistration | undefined {
    if (typeof ref !== 'string') return this.#registrations.get(bindingKey(ref.cluster, ref.name));
    const found = this.listAll().filter(({ bindingName }) => bindingName === ref);
    if (found.length > 1)
      throw new AmbiguousBindingException(
        ref,
        found.map(({ cluster }) => cluster),
      );
    return found[0];
  }

  require(ref: BindingRef): ContainerRegistration {
    const found = this.get(ref);
    if (found) return found;
    const known = typeof ref === 'string' ? this.#names() : [...this.#registrations.keys()];
    throw new BindingNotFoundException(
      typeof ref === 'string' ? ref : bindingKey(ref.cluster, bindingNameOf(ref)),
      known,
    );
  }

  /** Finds all bindings of a topic. Each reads it in a group of its own. */
  getByTopic(topic: string): readonly ContainerRegistration[] {
    return Object.freeze(this.listAll().filter(({ config }) => config.topic === topic));
  }

  listAll(): readonly ContainerRegistration[] {
    return Object.freeze([...this.#registrations.values()]);
  }

  /** Replaces the registration in one step, notifies the listeners and returns the new one. */
  updateState(ref: BindingRef, update: StateUpdate): ContainerRegistration {
    const previous = this.require(ref);
    const state = update.state ?? previous.state;
    const registration = Object.freeze({
      ...previous,
      ...update,
      state,
      since: state === previous.state ? previous.since : this.runtime.now(),
      pauses: Object.freeze([...(update.pauses ?? previous.pauses)]),
      lastCommand: Object.freeze(update.lastCommand ?? previous.lastCommand),
    });
    this.#registrations.set(registration.key, registration);
    this.#emit({ kind: 'updated', registration, previous });
    return registration;
  }

  /** Returns the function that ends the subscription. */
  onChange(listener: (change: RegistryChange) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #names(): readonly string[] {
    return this.listAll().map(({ bindingName }) => bindingName);
  }

  #emit(change: RegistryChange): void {
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        this.logger.error('A listener for changes of bindings threw', {
          binding: change.registration.bindingName,
          error: asError(error).message,
        });
      }
    }
  }
}
