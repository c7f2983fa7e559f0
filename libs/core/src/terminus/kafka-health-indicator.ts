import { Inject, Injectable } from '@nestjs/common';
import { HealthIndicatorService, type HealthIndicatorResult } from '@nestjs/terminus';
import { KafkaHealth } from '../containers/health/kafka-health.js';

/** Adds a Kafka cluster to the answer of `/health`. Asks its brokers with every call. */
@Injectable()
export class KafkaHealthIndicator {
  constructor(
    @Inject(HealthIndicatorService) private readonly indicators: HealthIndicatorService,
    @Inject(KafkaHealth) private readonly health: KafkaHealth,
  ) {}

  /** Takes ten seconds at most. Without `cluster` it asks the default cluster. */
  async isHealthy<Key extends string>(
    key: Key,
    { cluster }: { readonly cluster?: string } = {},
  ): Promise<HealthIndicatorResult<Key>> {
    const { status, ...details } = await this.health.checkHealth(cluster);
    const indicator = this.indicators.check(key);
    return status === 'UP'
      ? indicator.up({ state: status, ...details })
      : indicator.down({ state: status, ...details });
  }
}
