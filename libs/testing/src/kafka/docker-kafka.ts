import { realRuntime } from '@nest-event-bus/broker/runtime';
import type { KafkaRecipe } from './kafka-server-options.js';
import { KafkaUnavailableError } from './kafka-unavailable-error.js';
import { testSettings } from './local/broker-settings.js';
import { untilReady } from './readiness.js';
import type { StartedKafka } from './started-kafka.js';
import { UncontrolledKafka } from './uncontrolled-kafka.js';

const BROKER_PORT = 9093;
/** Generous, because the first start on a machine pulls the image. */
const STARTUP_TIMEOUT_MS = 300_000;

/**
 * Starts one broker in a container with Testcontainers, which removes it after the end of this
 * process.
 */
export async function dockerKafka(recipe: KafkaRecipe): Promise<StartedKafka> {
  const container = await startContainer(recipe);
  const address = `${container.getHost()}:${container.getMappedPort(BROKER_PORT)}`;
  const kafka = new UncontrolledKafka('docker', [address], () => container.stop());
  try {
    const { startTimeoutMs: timeoutMs } = recipe;
    await untilReady(realRuntime, { addresses: [address], timeoutMs });
    return kafka;
  } catch (error) {
    await kafka.stop();
    throw error;
  }
}

async function startContainer(recipe: KafkaRecipe) {
  const { KafkaContainer } = await loadTestcontainers();
  try {
    return await new KafkaContainer(imageOf(recipe.version))
      .withKraft()
      .withEnvironment(asEnvironment(testSettings(recipe)))
      .withStartupTimeout(STARTUP_TIMEOUT_MS)
      .start();
  } catch (error) {
    if (!/container runtime/i.test(String(error))) throw error;
    throw refusal('no Docker (or another container runtime) answers', error);
  }
}

async function loadTestcontainers(): Promise<typeof import('@testcontainers/kafka')> {
  try {
    return await import('@testcontainers/kafka');
  } catch (error) {
    throw refusal('run "npm i -D @testcontainers/kafka" to start Kafka in Docker', error);
  }
}

/**
 * Returns the name of Confluent's image, which Testcontainers can start. Its versions 8.x contain
 * Kafka 4.x, and 7.x contain Kafka 3.x.
 */
function imageOf(version: string): string {
  const [major = '4', minor = '1'] = version.split('.');
  return `confluentinc/cp-kafka:${Number(major) + 4}.${minor}.0`;
}

function asEnvironment(settings: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [
      `KAFKA_${name.toUpperCase().replaceAll('.', '_')}`,
      value,
    ]),
  );
}

function refusal(reason: string, cause: unknown): KafkaUnavailableError {
  return new KafkaUnavailableError([{ source: 'Docker', reason }], 'Docker', { cause });
}
