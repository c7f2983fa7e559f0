import { Inject, Injectable } from '@nestjs/common';
import { HealthIndicatorService, type HealthIndicatorResult } from '@nestjs/terminus';
import { EventBusConnector } from '../containers/lifecycle/event-bus-connector.js';
import type { EventBusHealth } from '../containers/health/event-bus-health.js';
import { EventBusDoctor } from '../observability/doctor/event-bus-doctor.js';
import { degradedResult, type DegradedOptions } from './indicator-result.js';

type Details = Record<string, unknown>;

/** Adds the bus and its bindings to the answer of `/health`. */
@Injectable()
export class EventBusHealthIndicator {
  constructor(
    @Inject(HealthIndicatorService) private readonly indicators: HealthIndicatorService,
    @Inject(EventBusConnector) private readonly connector: EventBusConnector,
    @Inject(EventBusDoctor) private readonly doctor: EventBusDoctor,
  ) {}

  /**
   * Reports `down` while a binding does not consume although it should: it is starting, its broker
   * or its topic is missing, a handler hangs, or the bus is draining. Reports a paused binding, or
   * one that waits for a backoff, as degraded: the application works, but an operator should know.
   */
  isHealthy<Key extends string>(
    key: Key,
    options: DegradedOptions = {},
  ): HealthIndicatorResult<Key> {
    const health = this.connector.health();
    const indicator = this.indicators.check(key);
    const details = this.#details(health);
    switch (health.status) {
      case 'UP':
      case 'DISABLED':
        return indicator.up(details);
      case 'DEGRADED':
        return degradedResult(indicator, details, options);
      case 'DOWN':
        return indicator.down(details);
    }
  }

  /**
   * Reports `down` only if a restart of the process helps: a handler has ignored its signal for as
   * long as maxPollIntervalMs. A broker outage is no reason to restart.
   */
  isAlive<Key extends string>(key: Key): HealthIndicatorResult<Key> {
    const { status, reasons } = this.connector.liveness();
    const indicator = this.indicators.check(key);
    return status === 'UP'
      ? indicator.up({ state: status })
      : indicator.down({ state: status, reasons });
  }

  #details({ status, isShuttingDown, bindings }: EventBusHealth): Details {
    return {
      state: status,
      ...(isShuttingDown ? { shuttingDown: true } : {}),
      bindings: Object.fromEntries(
        bindings.map(({ binding, cluster, state, status: own, reasons }) => [
          cluster === 'default' ? binding : `${cluster}:${binding}`,
          {
            state,
            status: own,
            ...(reasons.length > 0 ? { reasons } : {}),
            ...(own === 'UP'
              ? {}
              : { doctor: this.doctor.diagnose({ name: binding, cluster }).text }),
          },
        ]),
      ),
    };
  }
}
