/**
 * The internals of kafkajs 2.2.4 that we use. The package has no `exports` map and no types for
 * them.
 */

declare module 'kafkajs/src/network/connection.js' {
  /** The instance type is in kafkajs-connection.ts, because it refers to types of this library. */
  const Connection: new (options: Record<string, unknown>) => unknown;
  export default Connection;
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
