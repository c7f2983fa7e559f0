import { Inject, Injectable } from '@nestjs/common';
import { HealthIndicatorService, type HealthIndicatorResult } from '@nestjs/terminus';
import { OutboxHealth } from '../health/outbox-health.js';

type Details = Record<string, unknown>;

/**
 * The session of an indicator, in words of its own: the types of Terminus 11 have no `degraded`, so
 * that the declarations of this file would not compile there.
 */
interface Indicator<Key extends string> {
  up(data: Details): HealthIndicatorResult<Key>;
  down(data: Details): HealthIndicatorResult<Key>;
  degraded?(data: Details): HealthIndicatorResult<Key>;
}

/** Says as what a status DEGRADED is reported: Kubernetes knows only up and down. */
export interface OutboxDegradedOptions {
  /** With `'down'` a degraded outbox answers 503. Default `'degraded'`: it answers 200. */
  readonly degradedAs?: 'degraded' | 'down';
}

/** Adds the outbox to the answer of `/health`. */
@Injectable()
export class OutboxHealthIndicator {
  constructor(
    @Inject(HealthIndicatorService) private readonly indicators: HealthIndicatorService,
    @Inject(OutboxHealth) private readonly health: OutboxHealth,
  ) {}

  /**
   * Reports `down` while the outbox does not run or its table cannot be read. Reports DEAD events,
   * blocked keys and a backlog as degraded.
   */
  async isHealthy<Key extends string>(
    key: Key,
    { degradedAs = 'degraded' }: OutboxDegradedOptions = {},
  ): Promise<HealthIndicatorResult<Key>> {
    const { status, reasons, figures } = await this.health.check();
    const indicator: Indicator<Key> = this.indicators.check(key);
    const details = {
      state: status,
      ...(reasons.length > 0 ? { reasons } : {}),
      ...figures,
    };
    if (status === 'UP') return indicator.up(details);
    if (status === 'DOWN' || degradedAs === 'down') return indicator.down(details);
    // Terminus 11 knows only up and down and would drop anything else from the answer.
    return indicator.degraded ? indicator.degraded(details) : indicator.up(details);
  }
}
