import type { KafkaRecipe } from '../kafka-server-options.js';
import { HOST, listenerSettings, type BrokerPorts } from './listeners.js';
import { securitySettings } from './security-settings.js';

export interface NodeLayout {
  readonly id: number;
  readonly ports: BrokerPorts;
  /** The controller port of every node, by node id. */
  readonly controllers: readonly number[];
  readonly dataFolder: string;
  /** The folder of the certificates, if any are needed. */
  readonly certificateFolder: string;
}

/** Returns all settings of one broker; settings of the recipe take precedence. */
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
    // A client that requests a topic by mistake must get an error.
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
 * Requires two of three in-sync replicas. With fewer, an acknowledged record could be lost, and a
 * test would report a false error.
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

/** Detects a dead broker sooner than the stock 9 s and 30 s, to save waiting time in tests. */
const failureDetectionSettings = {
  'broker.session.timeout.ms': '2000',
  'broker.heartbeat.interval.ms': '500',
  'replica.lag.time.max.ms': '3000',
};

/**
 * Replaces the stock settings: 3 s for each new group, and at least 6 s until a killed member is
 * noticed.
 */
const groupSettings = {
  'group.initial.rebalance.delay.ms': '0',
  'group.min.session.timeout.ms': '500',
  'group.consumer.min.session.timeout.ms': '1000',
  'group.consumer.session.timeout.ms': '1000',
  'group.consumer.min.heartbeat.interval.ms': '300',
  'group.consumer.heartbeat.interval.ms': '300',
};
