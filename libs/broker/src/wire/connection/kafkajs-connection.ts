import type { Socket } from 'node:net';

interface RequestQueue {
  inflight: Map<number, unknown>;
  pending: unknown[];
  push(request: {
    entry: {
      apiKey: number;
      apiName: string;
      apiVersion: number;
      correlationId: number;
      resolve(answer: { payload: Buffer }): void;
      reject(error: Error): void;
    };
    expectResponse: boolean;
    sendRequest(): void;
  }): void;
  rejectAll(error: Error): void;
  scheduleCheckPendingRequests(): void;
  destroy(): void;
}

/** The members of a kafkajs 2.2.4 connection that we use. */
export interface KafkajsConnection {
  socket?: Socket;
  clientId: string;
  connectionStatus: string;
  requestQueue: RequestQueue;
  connect(): Promise<unknown>;
  /**
   * Does nothing while the current authentication is valid. Setting `authenticatedAt` to null
   * invalidates it.
   */
  authenticate(): Promise<void>;
  authenticatedAt: unknown;
  /** Milliseconds as a Long; 0 means that the session does not expire. */
  sessionLifetime: { toNumber(): number };
  isConnected(): boolean;
  setVersions(versions: Record<number, { minVersion: number; maxVersion: number }>): void;
  setSupportAuthenticationProtocol(isSupported: boolean): void;
  nextCorrelationId(): number;
  processData(chunk: Buffer): void;
  /** The number of missing bytes of the next response. */
  bytesNeeded: number;
  sasl: unknown;
}
