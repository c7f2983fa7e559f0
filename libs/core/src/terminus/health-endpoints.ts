import { Controller, Get, Inject, type Type } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { HealthCheck, HealthCheckService, type HealthIndicatorResult } from '@nestjs/terminus';
import { KafkaHealth } from '../containers/health/kafka-health.js';
import { EventBusHealthIndicator } from './event-bus-health-indicator.js';
import type { DegradedOptions } from './indicator-result.js';

/** An indicator that the ready endpoint can ask. */
export interface ReadyIndicator {
  isHealthy(
    key: string,
    options: DegradedOptions,
  ): HealthIndicatorResult | Promise<HealthIndicatorResult>;
}

/** Paths of the ready-made endpoints. `false` leaves an endpoint out. */
export interface HealthEndpointOptions extends DegradedOptions {
  /** Default `'health/live'`. */
  readonly live?: string | false;
  /** Default `'health/ready'`. */
  readonly ready?: string | false;
  /**
   * Indicators of other packages that the ready endpoint asks too, by the key of their part of the
   * answer: `{ outbox: OutboxHealthIndicator }`. They are found anywhere in the application.
   */
  readonly indicators?: Readonly<Record<string, Type<ReadyIndicator>>>;
  /** Answers what the default cluster says about itself. Default `'actuator/kafka'`. */
  readonly actuator?: string | false;
}

/** Creates the controllers of the endpoints. */
export function healthControllers({
  live = 'health/live',
  ready = 'health/ready',
  actuator = 'actuator/kafka',
  indicators = {},
  ...degraded
}: HealthEndpointOptions): Type[] {
  return [
    ...(live === false ? [] : [liveController(live)]),
    ...(ready === false ? [] : [readyController(ready, degraded, indicators)]),
    ...(actuator === false ? [] : [actuatorController(actuator)]),
  ];
}

function liveController(path: string): Type {
  @Controller(path)
  class EventBusLiveController {
    constructor(
      @Inject(HealthCheckService) private readonly health: HealthCheckService,
      @Inject(EventBusHealthIndicator) private readonly bus: EventBusHealthIndicator,
    ) {}

    @Get()
    @HealthCheck()
    live() {
      return this.health.check([() => this.bus.isAlive('eventbus')]);
    }
  }
  return EventBusLiveController;
}

function readyController(
  path: string,
  options: DegradedOptions,
  others: Readonly<Record<string, Type<ReadyIndicator>>>,
): Type {
  @Controller(path)
  class EventBusReadyController {
    constructor(
      @Inject(HealthCheckService) private readonly health: HealthCheckService,
      @Inject(EventBusHealthIndicator) private readonly bus: EventBusHealthIndicator,
      @Inject(ModuleRef) private readonly moduleRef: ModuleRef,
    ) {}

    @Get()
    @HealthCheck()
    ready() {
      return this.health.check([
        () => this.bus.isHealthy('eventbus', options),
        ...Object.entries(others).map(
          ([key, indicator]) =>
            () =>
              this.moduleRef.get(indicator, { strict: false }).isHealthy(key, options),
        ),
      ]);
    }
  }
  return EventBusReadyController;
}

function actuatorController(path: string): Type {
  @Controller(path)
  class KafkaActuatorController {
    constructor(@Inject(KafkaHealth) private readonly kafka: KafkaHealth) {}

    @Get()
    check() {
      return this.kafka.checkHealth();
    }
  }
  return KafkaActuatorController;
}
