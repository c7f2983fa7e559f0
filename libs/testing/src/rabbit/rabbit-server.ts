import { realRuntime } from '@nest-event-bus/broker/runtime';
import { LocalRabbit } from './local-rabbit.js';
import { RabbitUnavailableError } from './rabbit-errors.js';
import { findRabbit } from './rabbit-installation.js';
import type { StartedRabbit } from './started-rabbit.js';

export interface RabbitServerOptions {
  /** Lines of rabbitmq.conf that override the test defaults. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The maximum time until the server is ready. Default one minute. */
  readonly startTimeoutMs?: number;
}

const MISSING = 'neither rabbitmq-server with Erlang is installed, nor is RABBITMQ_HOME set';

/**
 * A real RabbitMQ for tests: the installed server with a node name, ports, data and settings of its
 * own. Other servers on the machine are not touched. If none is installed, throws
 * RabbitUnavailableError.
 */
export class RabbitServer {
  static async start({
    settings = {},
    startTimeoutMs = 60_000,
  }: RabbitServerOptions = {}): Promise<StartedRabbit> {
    const installation = findRabbit();
    if (installation === undefined) throw new RabbitUnavailableError(MISSING);
    return LocalRabbit.start(realRuntime, installation, { settings, startTimeoutMs });
  }

  /** Returns the reason why `start` would fail on this machine; undefined if nothing is missing. */
  static missing(): string | undefined {
    return findRabbit() === undefined ? MISSING : undefined;
  }
}
