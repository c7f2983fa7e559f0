/** What the storm tells a node. */
export interface NodeSettings {
  /** `defaults`: those of the specification, with claims. `all switches`: leases, order, wake. */
  readonly mode: 'defaults' | 'all switches';
  /** The name of this process. */
  readonly node: string;
  readonly databaseUrl: string;
  readonly brokers: readonly string[];
  readonly topic: string;
  /** The number of orders, which are the keys of the events. */
  readonly keys: number;
  readonly leaseMs: number;
  /** Transactions at the same time, and the pause after each. */
  readonly writers: number;
  readonly pauseMs: number;
}
