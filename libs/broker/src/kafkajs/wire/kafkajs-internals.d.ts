/** The parts of kafkajs 2.2.4 that the wire room uses. The package has no `exports` map and no types for them. */

declare module 'kafkajs/src/network/connection.js' {
  import type { Socket } from 'node:net';

  interface RequestQueue {
    inflight: Map<number, unknown>;
    pending: unknown[];
    throttledUntil: number;
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
    maybeThrottle(milliseconds: number): void;
    scheduleCheckPendingRequests(): void;
    destroy(): void;
  }

  export default class Connection {
    constructor(options: Record<string, unknown>);
    socket?: Socket;
    clientId: string;
    connectionStatus: string;
    requestQueue: RequestQueue;
    connect(): Promise<unknown>;
    authenticate(): Promise<void>;
    isAuthenticated(): boolean;
    setVersions(versions: Record<number, { minVersion: number; maxVersion: number }>): void;
    setSupportAuthenticationProtocol(isSupported: boolean): void;
    nextCorrelationId(): number;
    processData(chunk: Buffer): void;
    sasl: unknown;
  }
}

declare module 'kafkajs/src/network/socketFactory.js' {
  export default function createSocketFactory(): unknown;
}

declare module 'kafkajs/src/protocol/requests/index.js' {
  interface Definition {
    readonly versions: readonly string[];
    protocol(options: { version: number }): (parameters: unknown) => {
      readonly request: {
        readonly apiKey: number;
        readonly apiName: string;
        readonly apiVersion: number;
        encode(): Promise<{ readonly buffer: Buffer }>;
      };
      readonly response: { decode(body: Buffer): Promise<unknown> };
    };
  }
  const protocol: { readonly requests: Readonly<Record<string, Definition>> };
  export default protocol;
}

declare module 'kafkajs/src/protocol/requests/apiKeys.js' {
  const apiKeys: Readonly<Record<string, number>>;
  export default apiKeys;
}
