import { register } from 'node:module';
import { publishKafkaState } from './kafka-state.mjs';

register('./typescript-hooks.mjs', import.meta.url);

/**
 * A shorter session timeout than the default. Clients cannot choose it, and one second would be too short for
 * a busy machine.
 */
const SETTINGS = { 'group.consumer.session.timeout.ms': '6000' };

/** Runs once, and only if a suite of this project was selected: one broker for all suites. */
export default async function globalSetup() {
  const { KafkaServer, KafkaUnavailableError, KAFKA_BROKERS_VARIABLE } =
    await import('@nest-event-bus/testing');

  /** @template T @param {Promise<T>} work @returns {Promise<{ value: T } | { missing: string }>} */
  const orMissing = async (work) => {
    try {
      return { value: await work };
    } catch (error) {
      if (error instanceof KafkaUnavailableError) return { missing: error.message };
      throw error;
    }
  };

  /** @type {{ value?: unknown, missing?: string }} */
  const java = await orMissing(KafkaServer.prepareJava());
  const startedAt = performance.now();
  // An external Kafka is used as it is.
  const isOurs = 'value' in java && !process.env[KAFKA_BROKERS_VARIABLE];
  const kafka = await orMissing(KafkaServer.start(isOurs ? { settings: SETTINGS } : {}));
  if ('value' in kafka) report(kafka.value, performance.now() - startedAt);
  /** @type {import('./kafka-state.mjs').KafkaState} */
  const state = {
    shared: 'value' in kafka ? { brokers: [...kafka.value.brokers] } : kafka,
    own: { missing: java.missing },
  };
  publishKafkaState(state, 'value' in kafka ? kafka.value : undefined);
  for (const missing of new Set([state.shared, state.own].flatMap((each) => each.missing ?? []))) {
    process.stderr.write(`Integration suites ${missing}\n`);
  }
}

/** @param {import('@nest-event-bus/testing').StartedKafka} kafka @param {number} milliseconds */
function report({ source, brokers }, milliseconds) {
  const seconds = (milliseconds / 1_000).toFixed(1);
  process.stderr.write(`Shared Kafka (${source}) at ${brokers.join()} was up after ${seconds} s\n`);
}
