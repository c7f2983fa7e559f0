import { realRuntime } from '@nest-event-bus/broker/runtime';
import {
  KafkaServer,
  unique,
  type KafkaServerOptions,
  type StartedKafka,
} from '@nest-event-bus/testing';
import { kafkaState } from './kafka-state.mjs';

/** The broker that the whole run shares. Use your own topics and groups: `unique('orders')`. */
export interface SharedKafka {
  readonly brokers: readonly string[];
  unique(prefix: string): string;
}

const START_TIMEOUT_MS = 90_000;

/** Declares a suite on the shared broker; skipped by name if there is none, failed if CI=true. */
export function describeWithKafka(name: string, suite: (kafka: SharedKafka) => void): void {
  const { brokers, missing } = kafkaState().shared;
  if (brokers === undefined) return describeMissing(name, missing);
  describe(name, () => suite({ brokers, unique }));
}

/** Declares a suite that runs its own brokers in local Java. */
export function describeWithJava(name: string, suite: () => void): void {
  const { missing } = kafkaState().own;
  if (missing !== undefined) return describeMissing(name, missing);
  describe(name, suite);
}

/**
 * Declares a suite with its own cluster, which it may kill and freeze. `cluster()` returns it inside hooks
 * and tests.
 */
export function describeWithCluster(
  name: string,
  options: KafkaServerOptions,
  suite: (cluster: () => StartedKafka) => void,
): void {
  const listeners = Object.values(options.security?.listeners ?? {});
  const missing = listeners.some(({ tls }) => tls) ? KafkaServer.missingForTls() : undefined;
  if (missing !== undefined) return describeMissing(name, missing);
  describeWithJava(name, () => {
    let started: StartedKafka | undefined;
    beforeAll(async () => {
      const startedAt = realRuntime.monotonic();
      started = await KafkaServer.start({ ...options, controllable: true });
      report(name, started, realRuntime.monotonic() - startedAt);
    }, START_TIMEOUT_MS);
    afterAll(() => started?.stop());
    suite(() => {
      if (started === undefined)
        throw new Error('The cluster starts in beforeAll: call cluster() in a hook or test.');
      return started;
    });
  });
}

/** Declares a skipped suite by its name, or a failed one if CI=true. */
export function describeMissing(name: string, missing = 'no Kafka'): void {
  describe(name, () => {
    if (process.env['CI'] !== 'true') return it.skip(missing, () => undefined);
    it('is not skipped with CI=true', () => {
      throw new Error(missing);
    });
  });
}

function report(name: string, { brokers }: StartedKafka, milliseconds: number): void {
  const seconds = (milliseconds / 1_000).toFixed(1);
  process.stderr.write(`${name}: ${brokers.length} broker(s) up after ${seconds} s\n`);
}
