/** The part of JSON Schema 2020-12 that the admin API uses. */
export interface JsonSchema {
  /** Names the schema, so that documents list it once. */
  readonly title?: string;
  readonly description?: string;
  readonly type?: 'string' | 'integer' | 'number' | 'boolean' | 'object' | 'array' | 'null';
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly format?: 'date-time';
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly anyOf?: readonly JsonSchema[];
}

declare const described: unique symbol;

/** A JSON schema together with the TypeScript type of the values that it describes. */
export interface Schema<T> {
  readonly json: JsonSchema;
  readonly [described]?: T;
}

export type ValueOf<S> = S extends Schema<infer T> ? T : never;

type Fields = Readonly<Record<string, Schema<unknown>>>;
type ValuesOf<F extends Fields> = { readonly [K in keyof F]: ValueOf<F[K]> };

/** The type of an object with fields that it must have, and fields that it may have. */
export type ObjectOf<R extends Fields, O extends Fields> = [O] extends [never]
  ? ValuesOf<R>
  : ValuesOf<R> & Partial<ValuesOf<O>>;

type TextRules = Pick<JsonSchema, 'pattern' | 'minLength' | 'maxLength' | 'description'>;
type NumberRules = Pick<JsonSchema, 'minimum' | 'exclusiveMinimum' | 'maximum' | 'description'>;

export const text = (rules: TextRules = {}): Schema<string> => ({
  json: { type: 'string', ...rules },
});

export const integer = (rules: NumberRules = {}): Schema<number> => ({
  json: { type: 'integer', ...rules },
});

export const number = (rules: NumberRules = {}): Schema<number> => ({
  json: { type: 'number', ...rules },
});

export const flag = (description?: string): Schema<boolean> => ({
  json: { type: 'boolean', ...(description !== undefined && { description }) },
});

export const time = (description = 'ISO 8601.'): Schema<string> => ({
  json: { type: 'string', format: 'date-time', description },
});

export const choice = <const T extends string>(...values: readonly T[]): Schema<T> => ({
  json: { type: 'string', enum: values },
});

export const constant = <const T extends string | boolean>(value: T): Schema<T> => ({
  json: { const: value },
});

export const nothing: Schema<null> = { json: { type: 'null' } };

export const anything: Schema<unknown> = { json: {} };

export const anyOf = <S extends readonly Schema<unknown>[]>(
  ...schemas: S
): Schema<ValueOf<S[number]>> => ({ json: { anyOf: schemas.map(({ json }) => json) } });

export const list = <T>(
  item: Schema<T>,
  rules: Pick<JsonSchema, 'minItems' | 'maxItems'> = {},
): Schema<readonly T[]> => ({ json: { type: 'array', items: item.json, ...rules } });

export const record = <T>(
  value: Schema<T>,
  rules: Pick<JsonSchema, 'minProperties' | 'maxProperties'> = {},
): Schema<Readonly<Record<string, T>>> => ({
  json: { type: 'object', additionalProperties: value.json, ...rules },
});

/** An object with no other fields than these. */
export function object<R extends Fields, O extends Fields = never>(
  required: R,
  optional?: O,
  rules: Pick<JsonSchema, 'minProperties' | 'additionalProperties'> = {},
): Schema<ObjectOf<R, O>> {
  const fields = Object.entries({ ...required, ...optional });
  return {
    json: {
      type: 'object',
      properties: Object.fromEntries(fields.map(([name, { json }]) => [name, json])),
      ...(Object.keys(required).length > 0 && { required: Object.keys(required) }),
      additionalProperties: false,
      ...rules,
    },
  };
}

/** Gives the schema a name, under which documents list it once. */
export const named = <T>(title: string, { json }: Schema<T>): Schema<T> => ({
  json: { title, ...json },
});

export const explained = <T>(description: string, { json }: Schema<T>): Schema<T> => ({
  json: { ...json, description },
});
