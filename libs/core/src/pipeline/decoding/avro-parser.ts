import { createLongType } from './create-long-type.js';
import type { AvroPackage, AvroSchemaOptions, AvroType } from './avro-package.js';

const NUMBERS: readonly string[] = ['int', 'abstract:long', 'float', 'double'];

/**
 * Parses schemas. A later schema may name the types of earlier ones, so each schema and its
 * references have a parser of their own.
 */
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
   * Reads a union of two kinds of numbers as `{ int: 1 }`, as avsc does. avsc does not know that
   * our `long` is a number, and could not tell the two apart.
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
