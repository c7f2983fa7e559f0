import {
  type AdminSession,
  type BrokerDriver,
  type BrokerNode,
  errorNameOf,
  errorReasonOf,
  RequestTimeoutError,
} from '@nest-event-bus/broker';
import { within, type Runtime } from '@nest-event-bus/broker/runtime';

/** The facts that a cluster reports about itself. The names of the keys never change. */
export interface KafkaHealthReport {
  readonly status: 'UP' | 'DOWN';
  readonly clusterId: string | null;
  readonly brokersAvailable: number;
  /** For example `kafka-1:9092 (id=1), kafka-2:9092 (id=2)`. */
  readonly brokers: string;
  readonly controllerId: number | null;
  /** `host:port`; null if the controller is none of the brokers. */
  readonly controllerHost: string | null;
  /** Only present if the status is DOWN. */
  readonly error?: string;
  /** Class of the error. Only present if the status is DOWN. */
  readonly errorType?: string;
}

export interface KafkaHealthParts {
  readonly driverOf: (cluster: string) => BrokerDriver;
  readonly aliases: () => readonly string[];
  readonly runtime: Runtime;
}

const TIMEOUT_MS = 10_000;
const DEFAULT_CLUSTER = 'default';

/** Asks clusters for their brokers, with one admin session per cluster. */
export class KafkaHealth {
  readonly #admins = new Map<string, AdminSession>();

  constructor(private readonly parts: KafkaHealthParts) {}

  /** Never rejects. Takes ten seconds at most. */
  async checkHealth(cluster = this.#defaultCluster): Promise<KafkaHealthReport> {
    try {
      const asked = this.#adminOf(cluster).cluster();
      const description = await within(this.parts.runtime, TIMEOUT_MS, asked, timedOut);
      const { clusterId, controllerId, brokers } = description;
      if (brokers.length === 0)
        return down(
          new RequestTimeoutError('No broker is available. Check the brokers of the cluster.'),
        );
      const controller = brokers.find(({ id }) => id === controllerId);
      return {
        status: 'UP',
        clusterId,
        brokersAvailable: brokers.length,
        brokers: brokers.map((broker) => `${addressOf(broker)} (id=${broker.id})`).join(', '),
        controllerId: controllerId < 0 ? null : controllerId,
        controllerHost: controller ? addressOf(controller) : null,
      };
    } catch (error) {
      return down(error);
    }
  }

  async isHealthy(cluster?: string): Promise<boolean> {
    return (await this.checkHealth(cluster)).brokersAvailable > 0;
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#admins.values()].map((admin) => admin.close()));
  }

  get #defaultCluster(): string {
    const aliases = this.parts.aliases();
    return aliases.includes(DEFAULT_CLUSTER) ? DEFAULT_CLUSTER : (aliases[0] ?? DEFAULT_CLUSTER);
  }

  #adminOf(cluster: string): AdminSession {
    const known = this.#admins.get(cluster);
    if (known) return known;
    const opened = this.parts.driverOf(cluster).admin();
    this.#admins.set(cluster, opened);
    return opened;
  }
}

const addressOf = ({ host, port }: BrokerNode): string => `${host}:${port}`;

const timedOut = (): Error =>
  new RequestTimeoutError(`The cluster did not answer within ${TIMEOUT_MS} ms. Check its brokers.`);

function down(error: unknown): KafkaHealthReport {
  return {
    status: 'DOWN',
    clusterId: null,
    brokersAvailable: 0,
    brokers: '',
    controllerId: null,
    controllerHost: null,
    error: errorReasonOf(error),
    errorType: errorNameOf(error),
  };
}
