import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export const HOST = '127.0.0.1';

export interface RabbitPorts {
  readonly amqp: number;
  readonly management: number;
  /** The port on which other nodes and rabbitmqctl reach this node. */
  readonly distribution: number;
}

export interface RabbitLayout {
  readonly folder: string;
  readonly ports: RabbitPorts;
  /** Lines of rabbitmq.conf that override the test defaults. */
  readonly settings: Readonly<Record<string, string>>;
}

/** Settings of a test server: small intervals for figures, and no limit of the disk. */
const TEST_SETTINGS: Readonly<Record<string, string>> = {
  collect_statistics_interval: '500',
  'management.sample_retention_policies.global.minute': '1',
  'management.sample_retention_policies.basic.minute': '1',
  'management.sample_retention_policies.detailed.minute': '1',
  'disk_free_limit.absolute': '1MB',
  'log.console': 'true',
  'log.console.level': 'warning',
  'log.file': 'false',
};

/** Writes the settings and the list of plugins into the folder of the server. */
export async function prepareRabbitFolder({
  folder,
  ports,
  settings,
}: RabbitLayout): Promise<void> {
  await mkdir(join(folder, 'data'), { recursive: true });
  const lines = {
    'listeners.tcp.1': `${HOST}:${ports.amqp}`,
    'management.tcp.ip': HOST,
    'management.tcp.port': String(ports.management),
    ...TEST_SETTINGS,
    ...settings,
  };
  const text = Object.entries(lines).map(([key, value]) => `${key} = ${value}\n`);
  await writeFile(join(folder, 'rabbitmq.conf'), text.join(''));
  await writeFile(join(folder, 'enabled_plugins'), '[rabbitmq_management].\n');
}

/** Variables of the server and of rabbitmqctl, as `NAME=value`. */
export function rabbitEnvironment({ folder, ports }: RabbitLayout): readonly string[] {
  return [
    // The folder holds the Erlang cookie, so that no other node can reach this one.
    `HOME=${folder}`,
    `RABBITMQ_NODENAME=nest-event-bus-${ports.amqp}@localhost`,
    `RABBITMQ_DIST_PORT=${ports.distribution}`,
    'RABBITMQ_CONF_ENV_FILE=/dev/null',
    `RABBITMQ_CONFIG_FILE=${join(folder, 'rabbitmq')}`,
    `RABBITMQ_MNESIA_BASE=${join(folder, 'data')}`,
    `RABBITMQ_LOG_BASE=${join(folder, 'log')}`,
    `RABBITMQ_ENABLED_PLUGINS_FILE=${join(folder, 'enabled_plugins')}`,
    // Lets the script become the server, so that its process id is that of the server.
    'RUNNING_UNDER_SYSTEMD=true',
    'RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-kernel inet_dist_use_interface {127,0,0,1} +sbwt none -rabbit quorum_tick_interval 500',
  ];
}
