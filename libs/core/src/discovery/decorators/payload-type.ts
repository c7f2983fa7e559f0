/**
 * Standard Schema version 1 (https://standardschema.dev), implemented by zod, valibot, arktype and
 * others.
 */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
      readonly issues: readonly {
        readonly message: string;
        readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
      }[];
    };

/** A class with class-validator decorators, or a Standard Schema. */
export type PayloadType<T = unknown> = (new (...args: never[]) => T) | StandardSchema<T>;
