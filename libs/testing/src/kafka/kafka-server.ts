import { realRuntime } from '@nest-event-bus/broker/runtime';
import { dockerKafka } from './docker-kafka.js';
import {
  DEFAULT_KAFKA_VERSION,
  kafkaRecipe,
  javaOnlyNeeds,
  type KafkaRecipe,
  type KafkaServerOptions,
} from './kafka-server-options.js';
import { KafkaUnavailableError, type RefusedSource } from './kafka-unavailable-error.js';
import { missingKeytool } from './local/certificates.js';
import { withClassArchive } from './local/class-archive.js';
import { findKeytool } from './local/executables.js';
import { kafkaJars, type KafkaJars } from './local/kafka-jars.js';
import { LocalKafka } from './local/local-kafka.js';
import type { StartedKafka } from './started-kafka.js';
import { externalKafka } from './uncontrolled-kafka.js';

/** The address of an existing Kafka: `host:port,host:port`. */
export const KAFKA_BROKERS_VARIABLE = 'KAFKA_BROKERS';

type Source = (recipe: KafkaRecipe) => Promise<StartedKafka>;

/** Sources in order of preference; the first one that supports the recipe is used. */
const sources: readonly Source[] = [fromEnvironment, fromJava, fromDocker];

/**
 * A real Kafka for tests. Uses the brokers in KAFKA_BROKERS, else brokers in local Java (whose jars
 * Maven downloads once into the user's cache), else a container, else throws KafkaUnavailableError.
 */
export class KafkaServer {
  static async start(options: KafkaServerOptions = {}): Promise<StartedKafka> {
    const recipe = kafkaRecipe(options);
    const refusals: RefusedSource[] = [];
    for (const source of sources) {
      try {
        return await source(recipe);
      } catch (error) {
        if (!(error instanceof KafkaUnavailableError)) throw error;
        refusals.push(...error.refusals);
      }
    }
    const needs = javaOnlyNeeds(recipe).length > 0 ? 'Java' : 'Java or Docker';
    throw new KafkaUnavailableError(refusals, needs);
  }

  /**
   * Downloads the files for brokers in local Java before the first start. Rejects with
   * KafkaUnavailableError if that is not possible.
   */
  static async prepareJava(version = DEFAULT_KAFKA_VERSION): Promise<void> {
    await preparedJars(version);
  }

  /** Returns what this machine lacks for TLS listeners; undefined if nothing is missing. */
  static missingForTls(): string | undefined {
    return findKeytool() === undefined ? missingKeytool : undefined;
  }
}

async function fromEnvironment(recipe: KafkaRecipe): Promise<StartedKafka> {
  const addresses = process.env[KAFKA_BROKERS_VARIABLE];
  if (addresses === undefined || addresses.trim() === '') {
    throw refusal(KAFKA_BROKERS_VARIABLE, 'not set');
  }
  refuseJavaOnlyNeeds(KAFKA_BROKERS_VARIABLE, recipe);
  return externalKafka(addresses, recipe.startTimeoutMs);
}

async function fromJava(recipe: KafkaRecipe): Promise<StartedKafka> {
  return LocalKafka.start(realRuntime, await preparedJars(recipe.version), recipe);
}

async function preparedJars(version: string): Promise<KafkaJars> {
  return withClassArchive(realRuntime, await kafkaJars(version));
}

async function fromDocker(recipe: KafkaRecipe): Promise<StartedKafka> {
  refuseJavaOnlyNeeds('Docker', recipe);
  return dockerKafka(recipe);
}

function refuseJavaOnlyNeeds(source: string, recipe: KafkaRecipe): void {
  const needs = javaOnlyNeeds(recipe);
  if (needs.length > 0) throw refusal(source, `cannot give ${needs.join(', ')}`);
}

function refusal(source: string, reason: string): KafkaUnavailableError {
  return new KafkaUnavailableError([{ source, reason }]);
}
