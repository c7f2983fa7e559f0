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

/** A connection of kafkajs 2.2.4, as far as the wire room uses it. */
export interface KafkajsConnection {
  socket?: Socket;
  clientId: string;
  connectionStatus: string;
  requestQueue: RequestQueue;
  connect(): Promise<unknown>;
  /** Does nothing while the one before is still good: `authenticatedAt = null` says that it is not. */
  authenticate(): Promise<void>;
  authenticatedAt: unknown;
  /** Milliseconds as a Long; 0 is for ever. */
  sessionLifetime: { toNumber(): number };
  isConnected(): boolean;
  setVersions(versions: Record<number, { minVersion: number; maxVersion: number }>): void;
  setSupportAuthenticationProtocol(isSupported: boolean): void;
  nextCorrelationId(): number;
  processData(chunk: Buffer): void;
  /** Until the next answer is whole. */
  bytesNeeded: number;
  sasl: unknown;
}
