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
  /**
   * The assignors of the classic protocol, as class names without their package, or 'consumer' for
   * the consumer protocol.
   */
  readonly protocol: readonly string[] | 'consumer';
}

/** A consumer that uses the Java client, in its own process. */
export class JavaMember {
  /** The calls of its rebalance listener in order, for example `assigned 0 1`. */
  readonly calls: string[] = [];
  readonly records: string[] = [];
  readonly #owned = new Set<number>();
  readonly #ended: Promise<void>;
  #errors = '';

  private constructor(private readonly process: ChildProcess) {
    this.#ended = new Promise((resolve) => process.once('close', () => resolve()));
    if (process.stdout)
      createInterface({ input: process.stdout }).on('line', (line) => this.#onLine(line));
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

  /** The output on stderr: warnings, and the reason why the process ended. */
  get stderr(): string {
    return this.#errors;
  }

  async close(): Promise<void> {
    this.process.stdin?.end('close\n');
    await this.#ended;
  }

  kill(): void {
    this.process.kill('SIGKILL');
  }

  #onLine(line: string): void {
    const [what = '', ...rest] = line.split(' ');
    if (what === 'record') return void this.records.push(...rest);
    if (what === 'later') return;
    this.calls.push(line);
    for (const number of rest.map(Number))
      if (what === 'assigned') this.#owned.add(number);
      else this.#owned.delete(number);
  }
}
