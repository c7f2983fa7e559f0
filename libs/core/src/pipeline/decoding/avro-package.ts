/**
 * The part of `avsc` that is used. The package is optional, so its own types are not imported here.
 */
export interface AvroPackage {
  readonly Type: {
    forSchema(schema: unknown, options: AvroSchemaOptions): AvroType;
  };
  readonly types: {
    readonly LongType: { __with(methods: object): AvroType };
    readonly WrappedUnionType: new (types: readonly AvroType[], options: object) => AvroType;
  };
}

export interface AvroSchemaOptions {
  /** The types that a schema may name. The parser adds those that the schema defines. */
  readonly registry: Record<string, AvroType>;
  readonly typeHook?: (schema: unknown, options: AvroSchemaOptions) => AvroType | undefined;
}

export interface AvroType {
  readonly typeName: string;
  fromBuffer(bytes: Buffer): unknown;
  toBuffer(value: unknown): Buffer;
  isValid(
    value: unknown,
    options: { readonly errorHook: (path: readonly string[]) => void },
  ): boolean;
}

// The name is no literal, so that a bundler does not ask for the package if Avro is not used.
const PACKAGE: string = 'avsc';

/** Rejects if the package is not installed. */
export async function loadAvro(): Promise<AvroPackage> {
  const loaded = (await import(PACKAGE)) as AvroPackage & { readonly default?: AvroPackage };
  return loaded.default ?? loaded;
}
