import { Inject, Injectable } from '@nestjs/common';
import { HealthIndicatorService, type HealthIndicatorResult } from '@nestjs/terminus';
import { EventBusConnector } from '../containers/lifecycle/event-bus-connector.js';
import type { EventBusHealth } from '../containers/health/event-bus-health.js';

type Details = Record<string, unknown>;

/** Adds the bus to `/health`, binding by binding. */
@Injectable()
export class EventBusHealthIndicator {
  constructor(
    @Inject(HealthIndicatorService) private readonly indicators: HealthIndicatorService,
    @Inject(EventBusConnector) private readonly connector: EventBusConnector,
  ) {}

  /**
   * Reports `down` while a binding does not consume although it should: it is starting, its broker or
   * its topic is gone, a handler hangs, or the bus is draining. Reports a paused binding or one that
   * backs off as degraded: the application works, but an operator should know.
   */
  isHealthy<Key extends string>(key: Key): HealthIndicatorResult<Key> {
    const health = this.connector.health();
    const indicator = this.indicators.check(key);
    switch (health.status) {
      case 'UP':
      case 'DISABLED':
        return indicator.up(details(health));
      case 'DEGRADED':
        return degraded(indicator, details(health));
      case 'DOWN':
        return indicator.down(details(health));
    }
  }
}

type Indicator<Key extends string> = ReturnType<typeof HealthIndicatorService.prototype.check<Key>>;

/**
 * Falls back to `up`, because Terminus 11 knows only up and down and would drop anything else from
 * the response.
 */
function degraded<Key extends string>(
  indicator: Pick<Indicator<Key>, 'up'> & Partial<Pick<Indicator<Key>, 'degraded'>>,
  data: Details,
): HealthIndicatorResult<Key> {
  return indicator.degraded ? indicator.degraded(data) : indicator.up(data);
}

function details({ status, isShuttingDown, bindings }: EventBusHealth): Details {
  return {
    state: status,
    ...(isShuttingDown ? { shuttingDown: true } : {}),
    bindings: Object.fromEntries(
      bindings.map(({ binding, cluster, state, status: own, reasons }) => [
        cluster === 'default' ? binding : `${cluster}:${binding}`,
        { state, status: own, ...(reasons.length > 0 ? { reasons } : {}) },
      ]),
    ),
  };
}
