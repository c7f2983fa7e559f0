import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { KafkaRecipe } from '../kafka-server-options.js';
import { brokerSettings, toProperties, type NodeLayout } from './broker-settings.js';
import { storageTool, type KafkaJars } from './kafka-jars.js';
import { scramUsers } from './security-settings.js';

/** Prepares the folder of a broker: server.properties, and formatted data with its own ids. */
export async function prepareNodeFolder(
  runtime: Runtime,
  jars: KafkaJars,
  recipe: KafkaRecipe,
  node: { readonly folder: string; readonly clusterId: string; readonly layout: NodeLayout },
): Promise<void> {
  const { folder, clusterId, layout } = node;
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'server.properties'), toProperties(brokerSettings(layout, recipe)));
  const users = scramUsers(recipe.security);
  if (users.length > 0) return formatWithUsers(jars, { folder, clusterId, users });
  await cp(jars.template, layout.dataFolder, { recursive: true });
  const meta = join(layout.dataFolder, 'meta.properties');
  const own = {
    'cluster.id': clusterId,
    'node.id': String(layout.id),
    'directory.id': kafkaId(runtime),
  };
  const others = (await readFile(meta, 'utf8'))
    .split('\n')
    .filter((line) => line !== '' && !Object.keys(own).some((name) => line.startsWith(`${name}=`)));
  await writeFile(meta, `${others.join('\n')}\n${toProperties(own)}`);
}

/**
 * Formats the data with users. The template cannot be copied, because users are part of the format.
 */
async function formatWithUsers(
  { java, classPath }: KafkaJars,
  node: { readonly folder: string; readonly clusterId: string; readonly users: readonly string[] },
): Promise<void> {
  const { folder, clusterId, users } = node;
  // The id is part of the same argument, because it may start with a dash.
  const format = ['format', `--cluster-id=${clusterId}`, '-c', 'server.properties'];
  await storageTool(
    java,
    classPath,
    [...format, ...users.flatMap((u) => ['--add-scram', u])],
    folder,
  );
}

/** Returns Kafka's form of a UUID: sixteen bytes as 22 characters. */
export function kafkaId(runtime: Runtime): string {
  return Buffer.from(runtime.uuid().replaceAll('-', ''), 'hex').toString('base64url');
}
