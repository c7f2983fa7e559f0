import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { kafkaJars } from '../../../../libs/testing/src/kafka/local/kafka-jars.js';

const KAFKA_VERSION = '4.1.1';
const ASSIGNORS = 'org.apache.kafka.clients.consumer.';

export interface JavaMemberOptions {
  readonly brokers: readonly string[];
  readonly groupId: string;
  readonly topic: string;
  /** Of the classic protocol: assignors, as class names without their package. */
  readonly protocol: readonly string[] | 'consumer';
}

/** A consumer of Java's own client, in a process of its own. */
export class JavaMember {
  /** What it was told, in order, as `assigned 0 1`. */
  readonly told: string[] = [];
  readonly records: string[] = [];
  readonly #owned = new Set<number>();
  readonly #ended: Promise<void>;
  #errors = '';

  private constructor(private readonly process: ChildProcess) {
    this.#ended = new Promise((resolve) => process.once('close', () => resolve()));
    if (process.stdout)
      createInterface({ input: process.stdout }).on('line', (line) => this.#hear(line));
    process.stderr?.on('data', (chunk: Buffer) => (this.#errors += chunk.toString()));
  }

  static async start({ brokers, groupId, topic, protocol }: JavaMemberOptions) {
    const { java, classPath } = await kafkaJars(KAFKA_VERSION);
    const program = join(__dirname, 'GroupMember.java');
    const strategy =
      protocol === 'consumer' ? protocol : protocol.map((name) => ASSIGNORS + name).join();
    const flags = [
      '-Xmx128m',
      '-XX:TieredStopAtLevel=1',
      '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
    ];
    const given = [brokers.join(), groupId, topic, strategy];
    return new JavaMember(spawn(java, [...flags, '-cp', classPath, program, ...given]));
  }

  get owned(): number[] {
    return [...this.#owned].sort((left, right) => left - right);
  }

  /** What it printed besides: warnings, and why it ended. */
  get troubles(): string {
    return this.#errors;
  }

  async close(): Promise<void> {
    this.process.stdin?.end('close\n');
    await this.#ended;
  }

  kill(): void {
    this.process.kill('SIGKILL');
  }

  #hear(line: string): void {
    const [what = '', ...rest] = line.split(' ');
    if (what === 'record') return void this.records.push(...rest);
    if (what === 'later') return;
    this.told.push(line);
    for (const number of rest.map(Number))
      if (what === 'assigned') this.#owned.add(number);
      else this.#owned.delete(number);
  }
}
