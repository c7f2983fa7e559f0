import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { KafkaUnavailableError } from '../kafka-unavailable-error.js';
import { findJava, findMaven } from './executables.js';
import { CommandError, runCommand } from './run-command.js';

/** The environment variable for the cache folder; by default it is in the user's cache. */
export const CACHE_VARIABLE = 'NEST_EVENT_BUS_CACHE';

/** The files for running brokers of one version. */
export interface KafkaJars {
  readonly java: string;
  readonly version: string;
  readonly folder: string;
  /** The value for java's -cp. */
  readonly classPath: string;
  /**
   * A formatted data folder. Formatting takes as long as a start, so it is done once and copied.
   */
  readonly template: string;
  /** Further JVM flags. */
  readonly jvmFlags?: readonly string[];
}

/** Returns the jars of a Kafka version. The first call on a machine downloads them with Maven. */
export async function kafkaJars(version: string): Promise<KafkaJars> {
  const java = findJava();
  if (java === undefined) throw refusal('no "java" in JAVA_HOME or PATH');
  if (process.platform === 'win32')
    throw refusal('brokers are run by sh, which Windows does not have');
  const folder = join(cacheFolder(), `kafka-${version}`);
  if (!existsSync(folder)) await provision(java, version, folder);
  return {
    java,
    version,
    folder,
    classPath: join(folder, 'jars', '*'),
    template: join(folder, 'template'),
  };
}

export function cacheFolder(environment: NodeJS.ProcessEnv = process.env): string {
  const own = environment[CACHE_VARIABLE];
  if (own !== undefined && own !== '') return own;
  const caches = environment['XDG_CACHE_HOME'];
  const parent = caches === undefined || caches === '' ? join(homedir(), '.cache') : caches;
  return join(parent, 'nest-event-bus');
}

/**
 * Creates everything in a staging folder and renames it at the end, so that the final folder is
 * always complete, even if several processes do this at once.
 */
async function provision(java: string, version: string, folder: string): Promise<void> {
  const maven = findMaven();
  if (maven === undefined) {
    throw refusal(
      `the jars of Kafka ${version} are not in ${folder}, and no "mvn" in PATH can fetch them`,
    );
  }
  await mkdir(cacheFolder(), { recursive: true });
  const staging = await mkdtemp(`${folder}.staging-`);
  try {
    await fetchJars(maven, version, staging);
    await formatTemplate(java, staging);
    await moveIntoPlace(staging, folder);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    throw refusal(`the jars of Kafka ${version} could not be prepared: ${error.message}`, error);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

async function fetchJars(maven: string, version: string, staging: string): Promise<void> {
  await writeFile(join(staging, 'pom.xml'), pom(version));
  const goal = ['dependency:copy-dependencies', '-DoutputDirectory=jars', '-DincludeScope=runtime'];
  await runCommand(maven, ['-q', '-B', '-Dstyle.color=never', ...goal], {
    cwd: staging,
    timeoutMs: 600_000,
  });
}

async function formatTemplate(java: string, staging: string): Promise<void> {
  await writeFile(join(staging, 'format.properties'), formatProperties);
  const format = ['format', '-t', 'bmVzdC1ldmVudC1idXMtdA', '-c', 'format.properties'];
  await storageTool(java, join(staging, 'jars', '*'), format, staging);
}

export async function storageTool(
  java: string,
  classPath: string,
  args: readonly string[],
  folder: string,
): Promise<void> {
  const tool = ['-cp', classPath, 'kafka.tools.StorageTool'];
  await runCommand(java, [...tool, ...args], { cwd: folder, timeoutMs: 60_000 });
}

async function moveIntoPlace(staging: string, folder: string): Promise<void> {
  try {
    await rename(staging, folder);
  } catch (error) {
    // The folder of a faster process has the same content.
    if (!existsSync(folder)) throw error;
  }
}

function refusal(reason: string, cause?: unknown): KafkaUnavailableError {
  return new KafkaUnavailableError([{ source: 'local Java', reason }], 'Java and Maven', { cause });
}

/** slf4j-simple prints warnings of the broker; without a binding they are dropped. */
const pom = (version: string): string => `<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>nest-event-bus</groupId>
  <artifactId>kafka-jars</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_2.13</artifactId>
      <version>${version}</version>
    </dependency>
    <dependency>
      <groupId>org.slf4j</groupId>
      <artifactId>slf4j-simple</artifactId>
      <version>1.7.36</version>
    </dependency>
  </dependencies>
</project>
`;

const formatProperties = `process.roles=broker,controller
node.id=0
controller.quorum.voters=0@127.0.0.1:9093
listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093
controller.listener.names=CONTROLLER
log.dirs=template
`;
