import { createLongType } from './create-long-type.js';
import type { AvroPackage, AvroSchemaOptions, AvroType } from './avro-package.js';

const NUMBERS: readonly string[] = ['int', 'abstract:long', 'float', 'double'];

/** Makes a type of a schema. The types of earlier schemas may be named in later ones: one parser for each family. */
export class AvroParser {
  readonly #registry: Record<string, AvroType>;

  constructor(private readonly avro: AvroPackage) {
    this.#registry = { long: createLongType(avro) };
  }

  parse(schema: string): AvroType {
    return this.avro.Type.forSchema(JSON.parse(schema) as unknown, {
      registry: this.#registry,
      typeHook: this.#unionOfNumbers,
    });
  }

  /**
   * A union of two kinds of numbers is read as `{ int: 1 }`, as avsc has it. It would not be, since
   * avsc does not count our `long` among the numbers, and then could not tell them apart.
   */
  readonly #unionOfNumbers = (
    schema: unknown,
    options: AvroSchemaOptions,
  ): AvroType | undefined => {
    if (!Array.isArray(schema)) return undefined;
    const { Type, types } = this.avro;
    const branches = schema.map((branch) => Type.forSchema(branch, options));
    const numbers = branches.filter(({ typeName }) => NUMBERS.includes(typeName));
    return numbers.length > 1
      ? new types.WrappedUnionType(branches, options)
      : Type.forSchema(branches, { ...options, typeHook: undefined });
  };
}
