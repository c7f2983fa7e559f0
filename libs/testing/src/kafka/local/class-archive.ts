import { statSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import { kafkaRecipe } from '../kafka-server-options.js';
import { KafkaStartError } from '../kafka-unavailable-error.js';
import type { KafkaJars } from './kafka-jars.js';
import { LocalKafka } from './local-kafka.js';

/**
 * Gives the jars with an archive of the classes that a broker loads, which saves 40 % of the processor time of a start.
 * A broker must run and end once to write it, so that is done when the jars are new. A JVM that cannot write one leaves
 * an empty file, so that nobody tries again.
 */
export async function withClassArchive(runtime: Runtime, jars: KafkaJars): Promise<KafkaJars> {
  const archive = join(jars.folder, 'classes.jsa');
  if (!exists(archive)) await writeArchive(runtime, jars, archive);
  if (statSync(archive).size === 0) return jars;
  return { ...jars, jvmFlags: [`-XX:SharedArchiveFile=${archive}`] };
}

async function writeArchive(runtime: Runtime, jars: KafkaJars, archive: string): Promise<void> {
  // Several processes may do this at once: each writes its own file, and the last one stays.
  const own = `${archive}.${runtime.uuid()}`;
  try {
    const archiving = { ...jars, jvmFlags: [`-XX:ArchiveClassesAtExit=${own}`] };
    await using kafka = await LocalKafka.start(
      runtime,
      archiving,
      kafkaRecipe({ version: jars.version }),
    );
    await kafka.shutDown(0);
  } catch (error) {
    if (!(error instanceof KafkaStartError)) throw error;
    // This JVM does not know the flag: the brokers that follow start without an archive.
  }
  if (!exists(own)) await writeFile(own, '');
  await rename(own, archive);
}

function exists(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false }) !== undefined;
}
