import type { KafkaRecipe } from '../kafka-server-options.js';
import { HOST, listenerSettings, type BrokerPorts } from './listeners.js';
import { securitySettings } from './security-settings.js';

export interface NodeLayout {
  readonly id: number;
  readonly ports: BrokerPorts;
  /** The controller ports of all nodes, by node id. */
  readonly controllers: readonly number[];
  readonly dataFolder: string;
  /** The folder of the certificates. It is used only if the recipe needs certificates. */
  readonly certificateFolder: string;
}

/** Returns all settings of one broker. Settings of the recipe override the others. */
export function brokerSettings(layout: NodeLayout, recipe: KafkaRecipe): Record<string, string> {
  return {
    ...nodeSettings(layout),
    ...rackSetting(recipe.racks[layout.id]),
    ...listenerSettings(layout.ports, recipe.security.listeners),
    ...securitySettings(recipe.security, layout.certificateFolder),
    ...testSettings(recipe),
  };
}

/** Returns the settings of a test broker, independent of its source. */
export function testSettings(recipe: KafkaRecipe): Record<string, string> {
  return {
    // Topics are not created automatically, so that a client that requests a wrong topic gets an
    // error.
    'auto.create.topics.enable': 'false',
    ...replicationSettings(recipe.brokers),
    ...failureDetectionSettings,
    ...(recipe.stockGroupSettings ? {} : groupSettings),
    ...recipe.settings,
  };
}

export function toProperties(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value.replaceAll('\\', '\\\\')}\n`)
    .join('');
}

function nodeSettings({ id, controllers, dataFolder }: NodeLayout): Record<string, string> {
  return {
    'process.roles': 'broker,controller',
    'node.id': String(id),
    'controller.quorum.voters': controllers.map((port, node) => `${node}@${HOST}:${port}`).join(),
    'log.dirs': dataFolder,
  };
}

function rackSetting(rack: string | undefined): Record<string, string> {
  return rack === undefined ? {} : { 'broker.rack': rack };
}

/**
 * Requires two in-sync replicas if there are three brokers. With one, an acknowledged record could
 * be lost, and a test would report that as an error of the client.
 */
function replicationSettings(brokers: number): Record<string, string> {
  const replicas = String(brokers);
  const inSync = brokers === 1 ? '1' : '2';
  return {
    'offsets.topic.replication.factor': replicas,
    'transaction.state.log.replication.factor': replicas,
    'transaction.state.log.min.isr': inSync,
    'share.coordinator.state.topic.replication.factor': replicas,
    'share.coordinator.state.topic.min.isr': inSync,
    'default.replication.factor': replicas,
    'min.insync.replicas': inSync,
  };
}

/**
 * Detects a dead broker sooner than with Kafka's defaults of 9 s and 30 s, so that tests wait less.
 */
const failureDetectionSettings = {
  'broker.session.timeout.ms': '2000',
  'broker.heartbeat.interval.ms': '500',
  'replica.lag.time.max.ms': '3000',
};

/**
 * Replaces Kafka's defaults, with which a new group waits 3 s, and a killed member is detected
 * after 6 s at the earliest.
 */
const groupSettings = {
  'group.initial.rebalance.delay.ms': '0',
  'group.min.session.timeout.ms': '500',
  'group.consumer.min.session.timeout.ms': '1000',
  'group.consumer.session.timeout.ms': '1000',
  'group.consumer.min.heartbeat.interval.ms': '300',
  'group.consumer.heartbeat.interval.ms': '300',
};
