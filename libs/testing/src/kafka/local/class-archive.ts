import { statSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import { kafkaRecipe } from '../kafka-server-options.js';
import { KafkaStartError } from '../kafka-unavailable-error.js';
import type { KafkaJars } from './kafka-jars.js';
import { LocalKafka } from './local-kafka.js';

/**
 * Adds an archive of the classes that a broker loads, which saves 40 % of the processor time of a
 * start. A broker must start and end once to write the archive, so it is written once per download.
 * If a JVM cannot write an archive, an empty file is stored, so that no further attempt is made.
 */
export async function withClassArchive(runtime: Runtime, jars: KafkaJars): Promise<KafkaJars> {
  const archive = join(jars.folder, 'classes.jsa');
  if (!exists(archive)) await writeArchive(runtime, jars, archive);
  if (statSync(archive).size === 0) return jars;
  return { ...jars, jvmFlags: [`-XX:SharedArchiveFile=${archive}`] };
}

async function writeArchive(runtime: Runtime, jars: KafkaJars, archive: string): Promise<void> {
  // Concurrent processes write different files; the file that is renamed last stays.
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
    // The JVM does not support the flag and has written no file. Later brokers start without
    // an archive.
  }
  if (!exists(own)) await writeFile(own, '');
  await rename(own, archive);
}

function exists(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false }) !== undefined;
}
