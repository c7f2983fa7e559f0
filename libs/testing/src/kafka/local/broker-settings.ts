import type { KafkaRecipe } from '../kafka-server-options.js';
import { HOST, listenerSettings, type BrokerPorts } from './listeners.js';
import { securitySettings } from './security-settings.js';

export interface NodeLayout {
  readonly id: number;
  readonly ports: BrokerPorts;
  /** Every node's controller port, by node id. */
  readonly controllers: readonly number[];
  readonly dataFolder: string;
  /** Where the certificates lie, if any are needed. */
  readonly certificateFolder: string;
}

/** All settings of one broker; those of the recipe win. */
export function brokerSettings(layout: NodeLayout, recipe: KafkaRecipe): Record<string, string> {
  return {
    ...nodeSettings(layout),
    ...rackSetting(recipe.racks[layout.id]),
    ...listenerSettings(layout.ports, recipe.security.listeners),
    ...securitySettings(recipe.security, layout.certificateFolder),
    ...testSettings(recipe),
  };
}

/** What a test broker needs, wherever it runs. */
export function testSettings(recipe: KafkaRecipe): Record<string, string> {
  return {
    // A client that asks for a topic by mistake must hear so.
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

/** With fewer in-sync replicas a record that was acknowledged could truly be lost, and a test would blame us. */
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

/** How soon the cluster notices that a broker died: the stock 9 s and 30 s are waits without a lesson. */
const failureDetectionSettings = {
  'broker.session.timeout.ms': '2000',
  'broker.heartbeat.interval.ms': '500',
  'replica.lag.time.max.ms': '3000',
};

/** Stock: 3 s for each new group, and 6 s at least until a killed member is noticed. */
const groupSettings = {
  'group.initial.rebalance.delay.ms': '0',
  'group.min.session.timeout.ms': '500',
  'group.consumer.min.session.timeout.ms': '1000',
  'group.consumer.session.timeout.ms': '1000',
  'group.consumer.min.heartbeat.interval.ms': '300',
  'group.consumer.heartbeat.interval.ms': '300',
};
