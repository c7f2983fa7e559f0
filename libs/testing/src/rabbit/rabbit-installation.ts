import { accessSync, constants } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

/** The programs of an installed RabbitMQ. */
export interface RabbitInstallation {
  readonly server: string;
  readonly ctl: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The folder of Debian with the programs themselves. Those on the PATH are wrappers, which only run
 * as root or rabbitmq, and ignore the environment.
 */
const DEBIAN = '/usr/lib/rabbitmq/bin';

/** Returns the programs of RabbitMQ; undefined if it is not installed, or Erlang is not. */
export function findRabbit(
  environment: Environment = process.env,
  debian = DEBIAN,
): RabbitInstallation | undefined {
  const path = (environment['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const home = environment['RABBITMQ_HOME'];
  const folders = [...(home === undefined ? [] : [join(home, 'sbin')]), debian, ...path];
  const server = folders
    .map((folder) => join(folder, 'rabbitmq-server'))
    .find((file) => isExecutable(file));
  if (server === undefined || !path.some((folder) => isExecutable(join(folder, 'erl'))))
    return undefined;
  return { server, ctl: join(dirname(server), 'rabbitmqctl') };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    // A missing file and a file without permission to execute count as the same.
    return false;
  }
}
