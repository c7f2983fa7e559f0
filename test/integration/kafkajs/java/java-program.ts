import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { kafkaJars } from '../../../../libs/testing/src/kafka/local/kafka-jars.js';

const KAFKA_VERSION = '4.1.1';

/**
 * Runs a Java program of this folder with Kafka's Java client, and returns the lines that it
 * printed.
 */
export async function runJavaProgram(
  program: string,
  programArguments: readonly string[],
  input: readonly string[] = [],
): Promise<readonly string[]> {
  const { java, classPath } = await kafkaJars(KAFKA_VERSION);
  const flags = [
    '-Xmx128m',
    '-XX:TieredStopAtLevel=1',
    '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
  ];
  const source = join(__dirname, `${program}.java`);
  const process = spawn(java, [...flags, '-cp', classPath, source, ...programArguments]);
  const [output, errors]: [Buffer[], Buffer[]] = [[], []];
  process.stdout.on('data', (bytes: Buffer) => output.push(bytes));
  process.stderr.on('data', (bytes: Buffer) => errors.push(bytes));
  process.stdin.end(input.map((line) => `${line}\n`).join(''));
  const code = await new Promise<number | null>((resolve, reject) => {
    process.once('error', reject);
    process.once('close', resolve);
  });
  if (code !== 0)
    throw new Error(`${program} ended with ${code}:\n${Buffer.concat(errors).toString()}`);
  return Buffer.concat(output).toString().split('\n').slice(0, -1);
}
