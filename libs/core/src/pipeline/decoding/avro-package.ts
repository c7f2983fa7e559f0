/** What is used of `avsc`, which need not be installed: so nothing here names its own types. */
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
  /** The types that a schema may name; those that it defines are added. */
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

// Not a literal: whoever bundles the library without Avro must not be asked for the package.
const PACKAGE: string = 'avsc';

/** Rejects where it is not installed. */
export async function loadAvro(): Promise<AvroPackage> {
  const loaded = (await import(PACKAGE)) as AvroPackage & { readonly default?: AvroPackage };
  return loaded.default ?? loaded;
}
