import type { DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import {
  AmbiguousBindingException,
  BindingAlreadyExistsException,
  BindingNotConsumedException,
  BindingNotFoundException,
} from '../errors/container-errors.js';
import { defectContext } from '../errors/texts/defect-context.js';
import type { ContainerState } from '../model/states/container-state.js';
import { bindingKey, bindingNameOf, type BindingRef } from '../model/states/binding-ref.js';
import type { BindingPause, ContainerRegistration, LastCommand } from './container-registration.js';

/** A binding to which the application only publishes. */
export interface PublishedBinding {
  readonly binding: string;
  readonly cluster: string;
  readonly topic: string;
}

/** Changes of a registration. Omitted members do not change. */
export interface StateUpdate {
  readonly state?: ContainerState;
  readonly pauses?: readonly BindingPause[];
  readonly lastCommand?: LastCommand;
  /** Error of the last start; undefined removes it. */
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
  #published: readonly PublishedBinding[] = [];
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

  /**
   * Removes the binding and returns it. Its containers keep running, and the caller has to close
   * them.
   */
  unregister(ref: BindingRef): ContainerRegistration {
    const registration = this.require(ref);
    this.#registrations.delete(registration.key);
    this.#emit({ kind: 'unregistered', registration });
    return registration;
  }

  /**
   * Finds a binding. A name without a cluster matches on any cluster, and throws if it is
   * ambiguous.
   */
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
    const published = this.#published.find(isMeantBy(ref));
    if (published) throw new BindingNotConsumedException(published.binding, published.cluster);
    const known =
      typeof ref === 'string'
        ? [...this.#names(), ...this.#published.map(({ binding }) => binding)]
        : [...this.#registrations.keys(), ...this.#published.map(keyOf)];
    throw new BindingNotFoundException(
      typeof ref === 'string' ? ref : bindingKey(ref.cluster, bindingNameOf(ref)),
      known,
    );
  }

  /** Finds all bindings of a topic. Each of them reads it in its own group. */
  getByTopic(topic: string): readonly ContainerRegistration[] {
    return Object.freeze(this.listAll().filter(({ config }) => config.topic === topic));
  }

  listAll(): readonly ContainerRegistration[] {
    return Object.freeze([...this.#registrations.values()]);
  }

  /** Remembers the bindings that have no handler, and therefore no container. */
  setPublished(bindings: readonly PublishedBinding[]): void {
    this.#published = Object.freeze([...bindings]);
  }

  /** Returns the configured bindings that were not registered since. */
  listPublished(): readonly PublishedBinding[] {
    return this.#published.filter((binding) => !this.#registrations.has(keyOf(binding)));
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
          ...defectContext(error),
        });
      }
    }
  }
}

const keyOf = ({ cluster, binding }: PublishedBinding): string => bindingKey(cluster, binding);

function isMeantBy(ref: BindingRef): (published: PublishedBinding) => boolean {
  return ({ binding, cluster }) =>
    typeof ref === 'string' ? binding === ref : binding === ref.name && cluster === ref.cluster;
}
