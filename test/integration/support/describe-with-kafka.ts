import { realRuntime } from '@nest-event-bus/broker/runtime';
import {
  KafkaServer,
  unique,
  type KafkaServerOptions,
  type StartedKafka,
} from '@nest-event-bus/testing';
import { kafkaState } from './kafka-state.mjs';

/**
 * The broker that all suites of a run share. Each suite uses its own topics and groups:
 * `unique('orders')`.
 */
export interface SharedKafka {
  readonly brokers: readonly string[];
  unique(prefix: string): string;
}

const START_TIMEOUT_MS = 180_000;

/**
 * Declares a suite on the shared broker. Without a broker the suite is skipped and reports the
 * reason; with CI=true it fails.
 */
export function describeWithKafka(name: string, suite: (kafka: SharedKafka) => void): void {
  const { brokers, missing } = kafkaState().shared;
  if (brokers === undefined) return describeMissing(name, missing);
  describe(name, () => suite({ brokers, unique }));
}

/** Declares a suite that starts its own brokers in local JVMs. */
export function describeWithJava(name: string, suite: () => void): void {
  const { missing } = kafkaState().own;
  if (missing !== undefined) return describeMissing(name, missing);
  describe(name, suite);
}

/**
 * Declares a suite with its own cluster, whose brokers it may kill and freeze. `cluster()` returns
 * the cluster inside hooks and tests.
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

/** Declares a suite that is skipped with the given reason, or fails if CI=true. */
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
