import { realRuntime } from '@nest-event-bus/broker/runtime';
import { KafkaStartError, KafkaUnavailableError } from './kafka-unavailable-error.js';
import { untilReady } from './readiness.js';
import type { KafkaSource, StartedKafka } from './started-kafka.js';

/** A Kafka outside of the control of the tests: it can be used, but not killed. */
export class UncontrolledKafka implements StartedKafka {
  readonly canKill = false;
  readonly proxies = [];
  readonly proxiedBrokers = [];
  readonly securedBrokers = {};
  readonly certificates = undefined;
  #stopped: Promise<void> | undefined;

  constructor(
    readonly source: KafkaSource,
    readonly brokers: readonly string[],
    private readonly end: () => Promise<unknown> = () => Promise.resolve(),
  ) {}

  kill(): Promise<void> {
    return Promise.reject(this.#refusal());
  }

  shutDown(): Promise<void> {
    return Promise.reject(this.#refusal());
  }

  restart(): Promise<void> {
    return Promise.reject(this.#refusal());
  }

  freeze(): void {
    throw this.#refusal();
  }

  thaw(): void {
    throw this.#refusal();
  }

  stop(): Promise<void> {
    this.#stopped ??= this.end().then(() => undefined);
    return this.#stopped;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #refusal(): KafkaUnavailableError {
    const reason = 'its brokers cannot be killed or frozen; start it with controllable: true';
    return new KafkaUnavailableError([{ source: this.source, reason }], 'Java');
  }
}

/** Connects to the Kafka in KAFKA_BROKERS (`host:port,host:port`), and waits until it answers. */
export async function externalKafka(addresses: string, timeoutMs: number): Promise<StartedKafka> {
  const brokers = addresses
    .split(',')
    .map((address) => address.trim())
    .filter((address) => address !== '');
  try {
    await untilReady(realRuntime, { addresses: brokers, timeoutMs });
    return new UncontrolledKafka('external', brokers);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new KafkaStartError(
      `KAFKA_BROKERS names ${brokers.join()}, which cannot be used: ${reason} Start it, or unset the variable.`,
      { cause },
    );
  }
}
