import type { BrokerDriver } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import { KafkaHealth, type KafkaHealthReport } from '@nest-event-bus/core';
import type { MessageBrokerType } from '../../core/message-broker-type.js';

export interface MessagingHealthReport {
  /** `DISABLED` if no broker is used, `DOWN` if one of them does not answer. */
  readonly status: 'UP' | 'DOWN' | 'DISABLED';
  readonly brokers: Readonly<Partial<Record<MessageBrokerType, KafkaHealthReport>>>;
}

/** Asks the brokers of messaging whether they answer. */
export class MessagingHealth {
  readonly #checks: ReadonlyMap<MessageBrokerType, KafkaHealth>;

  constructor(drivers: ReadonlyMap<MessageBrokerType, BrokerDriver>, runtime: Runtime) {
    const checkOf = (driver: BrokerDriver): KafkaHealth =>
      new KafkaHealth({ driverOf: () => driver, aliases: () => ['default'], runtime });
    this.#checks = new Map([...drivers].map(([type, driver]) => [type, checkOf(driver)]));
  }

  /** Never rejects. Takes ten seconds at most. */
  async check(): Promise<MessagingHealthReport> {
    const entries = await Promise.all(
      [...this.#checks].map(async ([type, check]) => [type, await check.checkHealth()] as const),
    );
    const isUp = entries.every(([, { status }]) => status === 'UP');
    return {
      status: entries.length === 0 ? 'DISABLED' : isUp ? 'UP' : 'DOWN',
      brokers: Object.fromEntries(entries),
    };
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#checks.values()].map((check) => check.close()));
  }
}
