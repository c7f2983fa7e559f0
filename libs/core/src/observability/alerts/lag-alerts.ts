import type { ContainerRegistration } from '../../containers/container-registration.js';
import type { ContainerRegistry } from '../../containers/container-registry.js';
import type { EventSink } from '../../model/events/event-sink.js';
import type { AlertLevel, AlertState } from '../../model/states/lag-alert.js';
import type { BindingLag } from '../../model/states/lag.js';
import type { LagService } from '../lag/lag-service.js';
import { alertStates } from './alert-states.js';

export interface LagAlertParts {
  readonly lag: Pick<LagService, 'of' | 'onPoll'>;
  readonly registry: Pick<ContainerRegistry, 'listAll' | 'onChange'>;
  readonly events: EventSink;
}

/** Emits `lag.alert` when a level changes, after each poll. */
export class LagAlerts {
  /** The states by binding: one for each measured figure. */
  readonly #states = new Map<string, readonly AlertState[]>();
  /** The last known levels, also of figures that are not known at present. */
  readonly #levels = new Map<string, Map<string, AlertLevel>>();

  constructor(private readonly parts: LagAlertParts) {}

  attach(): void {
    const { lag, registry } = this.parts;
    lag.onPoll(() => {
      for (const registration of registry.listAll()) this.#compare(registration);
    });
    registry.onChange(({ kind, registration }) => {
      if (kind === 'unregistered') this.#forget(registration.key);
    });
  }

  /** Returns what was compared after the last poll, with its level. */
  statesOf({ key }: Pick<ContainerRegistration, 'key'>): readonly AlertState[] {
    return this.#states.get(key) ?? [];
  }

  #forget(key: string): void {
    this.#states.delete(key);
    this.#levels.delete(key);
  }

  #compare(registration: ContainerRegistration): void {
    const { key, cluster, bindingName: name, config } = registration;
    const lag = this.parts.lag.of({ cluster, name });
    // Old figures neither begin nor end an alert.
    if (!lag || lag.at === undefined || lag.error !== undefined) return;
    const states = alertStates(lag, config);
    this.#states.set(key, states);
    const levels = this.#levels.get(key) ?? new Map<string, AlertLevel>();
    this.#levels.set(key, levels);
    for (const state of states) {
      const measured = stateKey(state);
      const previous = levels.get(measured) ?? 'OK';
      levels.set(measured, state.level);
      this.#emitChange(lag, state, previous);
    }
  }

  #emitChange(lag: BindingLag, state: AlertState, previous: AlertLevel): void {
    if (state.level === previous) return;
    const { binding, cluster, at = 0 } = lag;
    const group =
      state.of === 'tier' ? lag.tiers.find(({ tier }) => tier === state.tier) : lag.main;
    const why =
      state.of === 'dead-letters' || !group
        ? { status: undefined, cause: undefined }
        : { status: group.status, cause: group.cause };
    this.parts.events.emit({ name: 'lag.alert', at, binding, cluster, ...state, previous, ...why });
  }
}

const stateKey = ({ of, tier, measure }: AlertState): string => `${of} ${tier} ${measure}`;
