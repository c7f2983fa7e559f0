import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import { runCommand } from '../kafka/local/run-command.js';
import { onFreePorts } from '../processes/free-ports.js';
import { ServerProcess } from '../processes/server-process.js';
import { TcpProxy } from '../proxy/tcp-proxy.js';
import { RabbitServerError } from './rabbit-errors.js';
import type { RabbitInstallation } from './rabbit-installation.js';
import { RabbitManagement } from './rabbit-management.js';
import {
  HOST,
  prepareRabbitFolder,
  rabbitEnvironment,
  type RabbitLayout,
} from './rabbit-settings.js';
import type { StartedRabbit } from './started-rabbit.js';

interface Recipe {
  readonly settings: Readonly<Record<string, string>>;
  readonly startTimeoutMs: number;
}

/** The user that a new server has. It may connect from this machine only. */
const LOGIN = { user: 'guest', password: 'guest' };

/** The share of memory above which a server raises its alarm, if nothing else is configured. */
const DEFAULT_WATERMARK = '0.4';

const CTL_TIMEOUT_MS = 60_000;

/** One node of the installed RabbitMQ, in a process of this process. */
export class LocalRabbit implements StartedRabbit {
  readonly management: RabbitManagement;
  #stopped: Promise<void> | undefined;

  private constructor(
    runtime: Runtime,
    private readonly installation: RabbitInstallation,
    private readonly layout: RabbitLayout,
    private readonly process: ServerProcess,
    readonly proxy: TcpProxy,
    private readonly startTimeoutMs: number,
  ) {
    this.management = new RabbitManagement(
      runtime,
      `http://${HOST}:${layout.ports.management}`,
      LOGIN,
    );
  }

  static start(
    runtime: Runtime,
    installation: RabbitInstallation,
    { settings, startTimeoutMs }: Recipe,
  ): Promise<LocalRabbit> {
    return onFreePorts(
      runtime,
      4,
      async ([amqp = 0, management = 0, distribution = 0, port = 0]) => {
        const parent = await mkdtemp(join(tmpdir(), 'nest-event-bus-rabbit-'));
        const folder = join(parent, 'node');
        const layout = { folder, ports: { amqp, management, distribution }, settings };
        const command = ['/usr/bin/env', ...rabbitEnvironment(layout), installation.server];
        const process = new ServerProcess(folder, command);
        const proxy = new TcpProxy({ target: `${HOST}:${amqp}`, port });
        const rabbit = new LocalRabbit(
          runtime,
          installation,
          layout,
          process,
          proxy,
          startTimeoutMs,
        );
        await rabbit.#launchOrStop();
        return rabbit;
      },
    );
  }

  get url(): string {
    return amqpUrl(`${HOST}:${this.layout.ports.amqp}`);
  }

  get proxiedUrl(): string {
    return amqpUrl(this.proxy.address);
  }

  kill(): Promise<void> {
    return this.process.kill();
  }

  shutDown(): Promise<void> {
    return this.process.shutDown();
  }

  async restart(): Promise<void> {
    await this.process.kill();
    await this.#launch();
  }

  freeze(): void {
    this.process.freeze();
  }

  thaw(): void {
    this.process.thaw();
  }

  raiseMemoryAlarm(): Promise<void> {
    return this.#control('set_vm_memory_high_watermark', '0.00000001');
  }

  clearMemoryAlarm(): Promise<void> {
    return this.#control('set_vm_memory_high_watermark', DEFAULT_WATERMARK);
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
      await prepareRabbitFolder(this.layout);
      await this.proxy.accept();
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
      const { amqp } = this.layout.ports;
      await this.management.untilListening(amqp, this.startTimeoutMs, fatalReason);
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      const output = await this.process.lastOutput();
      throw new RabbitServerError(`RabbitMQ did not start: ${reason}\n${output}`.trimEnd(), {
        cause,
      });
    }
  }

  #control(...args: readonly string[]): Promise<void> {
    const environment = rabbitEnvironment(this.layout);
    return runCommand('/usr/bin/env', [...environment, this.installation.ctl, ...args], {
      cwd: this.layout.folder,
      timeoutMs: CTL_TIMEOUT_MS,
    });
  }

  async #stop(): Promise<void> {
    await this.proxy.close();
    await this.process.kill();
    await rm(join(this.layout.folder, '..'), { recursive: true, force: true, maxRetries: 3 });
  }
}

const amqpUrl = (address: string): string => `amqp://${LOGIN.user}:${LOGIN.password}@${address}`;
