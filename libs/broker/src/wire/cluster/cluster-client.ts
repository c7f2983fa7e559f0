import type { BrokerError } from '../../port/errors.js';
import type { Runtime } from '../../runtime/index.js';
import type { ApiRequest } from '../requests/api-request.js';
import type { ClusterFeatures } from './cluster-features.js';
import type { Metadata } from './metadata.js';

/** The id of a broker, the controller, or any broker that can be reached. */
export type Target = number | 'controller' | 'any';

export interface ClusterRequestOptions {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/**
 * The part of the cluster that consumers, producers, groups and the admin use. Tests replace it by
 * a scripted cluster.
 */
export interface ClusterClient {
  readonly metadata: Metadata;
  readonly features: ClusterFeatures;
  readonly runtime: Runtime;
  readonly requestTimeoutMs: number;
  request<T>(
    target: Target,
    channel: string,
    request: ApiRequest<T>,
    options?: ClusterRequestOptions,
  ): Promise<T>;
  /**
   * Destroys the connections of the channel. Requests that wait for a response or for such a
   * connection are rejected.
   */
  closeChannel(channel: string, reason?: BrokerError): void;
}
