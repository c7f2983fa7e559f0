import type { Cluster } from '../../wire/index.js';

/** What group membership needs of the cluster. */
export type GroupCluster = Pick<
  Cluster,
  'request' | 'closeLane' | 'metadata' | 'runtime' | 'requestTimeoutMs'
>;
