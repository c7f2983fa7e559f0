/** The part of a Prisma client that the kit uses. */
export interface PrismaClient {
  $transaction<T>(work: (tx: PrismaClient) => Promise<T>): Promise<T>;
  $executeRawUnsafe(statement: string): Promise<number>;
  $disconnect(): Promise<void>;
}

/** The types of Node 20 name it and do not declare its value. */
const { WebAssembly: Wasm } = globalThis as unknown as {
  readonly WebAssembly: { readonly Module: new (bytes: Uint8Array) => object };
};

type ClientClass = new (options: {
  readonly adapter: object;
  readonly transactionOptions: { readonly maxWait: number; readonly timeout: number };
}) => PrismaClient;

/** A slow machine needs more than the defaults, which are 2 s and 5 s. */
const TRANSACTION_LIMITS = { maxWait: 120_000, timeout: 120_000 };

/**
 * A real client of Prisma, without models. It has the configuration that `prisma generate` writes
 * for an empty schema, because the command itself comes with a download from another host than the
 * registry: see decision 127.
 */
export function newPrismaClient(connectionString: string): PrismaClient {
  const { PrismaPg } = require('@prisma/adapter-pg') as {
    readonly PrismaPg: new (options: object) => object;
  };
  const { getPrismaClient } = require('@prisma/client/runtime/client') as {
    readonly getPrismaClient: (configuration: object) => ClientClass;
  };
  const Client = getPrismaClient({
    previewFeatures: [],
    clientVersion: '7.10.0',
    engineVersion: '0edf323efd1d98336f3f0a68684b56f689b900d3',
    activeProvider: 'postgresql',
    inlineSchema: 'datasource db {\n  provider = "postgresql"\n}\n',
    runtimeDataModel: { models: {}, enums: {}, types: {} },
    parameterizationSchema: { strings: [], graph: 'AAAA' },
    compilerWasm: {
      getRuntime: async () =>
        require('@prisma/client/runtime/query_compiler_fast_bg.postgresql.js') as object,
      getQueryCompilerWasmModule: async () => {
        const { wasm } =
          require('@prisma/client/runtime/query_compiler_fast_bg.postgresql.wasm-base64.js') as {
            readonly wasm: string;
          };
        return new Wasm.Module(Buffer.from(wasm, 'base64'));
      },
      importName: './query_compiler_fast_bg.js',
    },
  });
  return new Client({
    adapter: new PrismaPg({ connectionString }),
    transactionOptions: TRANSACTION_LIMITS,
  });
}
