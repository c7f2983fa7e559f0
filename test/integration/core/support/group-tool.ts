import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findMaven } from '../../../../libs/testing/src/kafka/local/executables.js';
import { cacheFolder, kafkaJars } from '../../../../libs/testing/src/kafka/local/kafka-jars.js';
import { runCommand } from '../../../../libs/testing/src/kafka/local/run-command.js';

const KAFKA_VERSION = '4.1.1';
const TOOL = 'org.apache.kafka.tools.consumer.group.ConsumerGroupCommand';

/** What Kafka's own tool says of a group in a partition. */
export interface ToolRow {
  readonly topic: string;
  readonly partition: number;
  /** Undefined if the group has committed no offset. */
  readonly committed: number | undefined;
  readonly end: number;
  readonly lag: number | undefined;
}

/** Describes a group with `kafka-consumer-groups.sh --describe`. */
export async function describeGroupWithTool(
  brokers: readonly string[],
  groupId: string,
): Promise<readonly ToolRow[]> {
  const { java, classPath } = await kafkaJars(KAFKA_VERSION);
  const jars = `${classPath}:${join(await toolJars(), '*')}`;
  const flags = ['-Xmx128m', '-XX:TieredStopAtLevel=1', '-cp', jars, TOOL];
  const asked = ['--bootstrap-server', brokers.join(), '--describe', '--group', groupId];
  const limits = ['--timeout', '60000'];
  const output = await outputOf(java, [...flags, ...asked, ...limits]);
  return output.split('\n').flatMap((line) => {
    const [group, topic, partition, committed, end, lag] = line.trim().split(/\s+/);
    if (group !== groupId || topic === undefined) return [];
    return [
      {
        topic,
        partition: Number(partition),
        committed: numberOf(committed),
        end: numberOf(end) ?? 0,
        lag: numberOf(lag),
      },
    ];
  });
}

const numberOf = (text: string | undefined): number | undefined =>
  text === undefined || text === '-' ? undefined : Number(text);

function outputOf(command: string, args: readonly string[]): Promise<string> {
  const process = spawn(command, args);
  const [output, errors]: [Buffer[], Buffer[]] = [[], []];
  process.stdout.on('data', (bytes: Buffer) => output.push(bytes));
  process.stderr.on('data', (bytes: Buffer) => errors.push(bytes));
  return new Promise((resolve, reject) => {
    process.once('error', reject);
    process.once('close', (code) => {
      if (code === 0) resolve(Buffer.concat(output).toString());
      else reject(new Error(`The tool ended with ${code}:\n${Buffer.concat(errors).toString()}`));
    });
  });
}

/** Returns the folder with the jars of Kafka's tools. The first call downloads them with Maven. */
async function toolJars(): Promise<string> {
  const folder = join(cacheFolder(), `kafka-tools-${KAFKA_VERSION}`);
  if (!existsSync(folder)) await provision(folder);
  return join(folder, 'jars');
}

async function provision(folder: string): Promise<void> {
  const maven = findMaven();
  if (maven === undefined) throw new Error("Kafka's tools need mvn in PATH, to be downloaded.");
  await mkdir(cacheFolder(), { recursive: true });
  const staging = await mkdtemp(`${folder}.staging-`);
  try {
    await writeFile(join(staging, 'pom.xml'), POM);
    const goal = ['dependency:copy-dependencies', '-DoutputDirectory=jars'];
    await runCommand(maven, ['-q', '-B', ...goal, '-DincludeScope=runtime'], {
      cwd: staging,
      timeoutMs: 600_000,
    });
    if (!existsSync(folder)) await rename(staging, folder);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

const POM = `<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>nest-event-bus</groupId>
  <artifactId>kafka-tools-jars</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka-tools</artifactId>
      <version>${KAFKA_VERSION}</version>
    </dependency>
  </dependencies>
</project>
`;
