import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import { onFreePorts } from '../processes/free-ports.js';
import { ServerProcess } from '../processes/server-process.js';
import { jvmFlags } from '../kafka/local/jvm-flags.js';
import { registerSchema, untilReady, type RegisteredReference } from './registry-api.js';
import type { RegistryApp } from './registry-app.js';
import { SchemaRegistryError } from './schema-registry-errors.js';
import type { StartedSchemaRegistry } from './started-schema-registry.js';

const HOST = '127.0.0.1';

/**
 * The registry Apicurio in a local JVM. It stores its schemas in a file, so that they are kept
 * after a kill.
 */
export class LocalRegistry implements StartedSchemaRegistry {
  readonly source = 'local';
  readonly url: string;
  #stopped: Promise<void> | undefined;

  private constructor(
    private readonly runtime: Runtime,
    private readonly folder: string,
    private readonly process: ServerProcess,
    private readonly timeoutMs: number,
    port: number,
  ) {
    this.url = `http://${HOST}:${port}/apis/ccompat/v7`;
  }

  static start(runtime: Runtime, app: RegistryApp, timeoutMs: number): Promise<LocalRegistry> {
    return onFreePorts(runtime, 1, async ([port = 0]) => {
      const folder = await mkdtemp(join(tmpdir(), 'nest-event-bus-registry-'));
      const own = join(folder, 'registry');
      await mkdir(own);
      const process = new ServerProcess(own, commandOf(app, own, port));
      const registry = new LocalRegistry(runtime, folder, process, timeoutMs, port);
      await registry.#launchOrStop();
      return registry;
    });
  }

  register(
    subject: string,
    schema: unknown,
    references?: readonly RegisteredReference[],
  ): Promise<number> {
    return registerSchema(this.runtime, this.url, subject, { schema, references });
  }

  kill(): Promise<void> {
    return this.process.kill();
  }

  async restart(): Promise<void> {
    await this.process.kill();
    await this.#launch();
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #launchOrStop(): Promise<void> {
    try {
      await this.#launch();
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  async #launch(): Promise<void> {
    this.process.launch();
    const fatalReason = (): string | undefined =>
      this.process.kind === 'down' ? 'its process ended' : undefined;
    try {
      await untilReady(this.runtime, this.url, this.timeoutMs, fatalReason);
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      const output = await this.process.lastOutput();
      throw new SchemaRegistryError(
        `The schema registry did not start: ${reason}\n${output}`.trimEnd(),
        { cause },
      );
    }
  }

  async #stop(): Promise<void> {
    await this.process.kill();
    await rm(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

function commandOf({ java, jar }: RegistryApp, folder: string, port: number): readonly string[] {
  // A write delay of 0 ensures that acknowledged data is in the file when the process is killed.
  const database = `jdbc:h2:file:${join(folder, 'schemas')};WRITE_DELAY=0`;
  return [
    java,
    ...jvmFlags(folder),
    `-Dquarkus.http.host=${HOST}`,
    `-Dquarkus.http.port=${port}`,
    '-Dquarkus.log.level=WARN',
    '-Dapicurio.storage.kind=sql',
    '-Dapicurio.storage.sql.kind=h2',
    `-Dapicurio.datasource.url=${database}`,
    '-jar',
    jar,
  ];
}
