import type { OpenApiDocument } from '../../src/admin/api/open-api.js';
import type { JsonSchema } from '../../src/admin/api/schema.js';
import type { FuzzCall } from './admin-model.spec-support.js';

type DocumentSchema = JsonSchema & { readonly $ref?: string };

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly required: boolean;
  readonly schema: DocumentSchema;
}

interface Operation {
  readonly operationId: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly body: DocumentSchema | undefined;
  readonly isBodyRequired: boolean;
}

/** A request that was generated, as it is sent. */
export interface GeneratedRequest {
  readonly call: FuzzCall;
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  /** What was made wrong; undefined in a valid request. */
  readonly mutation?: string;
}

/** Numbers that only depend on the seed. */
export class Random {
  constructor(private state: number) {}

  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.next() * values.length)]!;
  }
}

const NAMES = ['orders', 'orders', 'orders', 'second', 'gone', 'audit'];
const YEARS = ['2000-01-01T00:00:00Z', '2950-01-01T00:00:00Z'];
const OFFSETS = ['0', '1', '7', '20', '33', '5000'];
const FILTERS = [
  { exceptionClass: 'OutOfStock' },
  { exceptionClass: { prefix: 'Time' } },
  { exceptionClass: { in: ['TimeoutError', 'Other'] }, originalOffset: { from: '3', to: '40' } },
  { originalOffset: { from: '10' } },
  { exceptionClass: 'NoSuchError' },
];
/** Values for fields whose meaning a schema cannot tell, by their name. */
const VALUES: Readonly<Record<string, readonly unknown[]>> = {
  name: NAMES,
  cluster: ['default', 'default', 'other'],
  id: ['a', 'b', 'c', 'd'],
  plan: ['a', 'b', 'c', 'd', 'none'],
  tier: [1, 1, 2],
  partition: [0, 0, 5],
  offset: OFFSETS,
  where: FILTERS,
  from: YEARS,
  to: YEARS,
  count: [1, 2, 5],
  limit: [1, 3, 10],
  olderThan: ['P9999D', '2000-01-01', '2000-01-01T00:00:00Z', 'PT0S'],
  wait: ['30s', '1m', '30000 ms'],
  validFor: ['1s', '30s'],
  changes: [{ concurrency: 1 }, { maxPollRecords: 50 }, { maxPollRecords: null }],
  rate: [5_000, 100_000],
  topic: ['orders', 'second'],
  mostRead: [1_000_000],
  value: ['1', '7'],
  key: ['a', null],
  headers: [{ channel: 'web' }, { channel: null }],
  reason: ['because', 'ümläut', ''],
};
const REGISTRATIONS = ['orders', 'second'].flatMap((name) =>
  [undefined, 'orders', 'none'].map((handler) => ({
    name,
    topic: name,
    groupId: name === 'orders' ? 'shop' : `shop-${name}`,
    provisioning: 'create',
    retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 1_000 }] },
    ...(handler && { handler }),
  })),
);
/**
 * Fields that are left out: a model without time cannot predict what follows, and no value is JSON in
 * two encodings.
 */
const NOT_GENERATED = new Set(['canary', 'ramp', 'encoding']);
/** Parameters that say how letters are selected. Valid requests mostly have one of them. */
const SELECTIONS = ['count', 'all', 'from'];

/** Generates requests from the OpenAPI document of an API. */
export class AdminRequests {
  readonly operations: readonly Operation[];

  constructor(
    private readonly document: OpenApiDocument,
    private readonly random: Random,
  ) {
    this.operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, each]) => {
        const { parameters = [], requestBody } = each;
        const content = requestBody?.['content'] as
          Record<string, { schema: DocumentSchema }> | undefined;
        return {
          operationId: each.operationId,
          method: method.toUpperCase(),
          path,
          parameters: parameters as unknown as readonly Parameter[],
          body: content?.['application/json']?.schema,
          isBodyRequired: requestBody?.['required'] === true,
        };
      }),
    );
  }

  valid(): GeneratedRequest {
    const operation = this.random.pick(this.operations);
    const call = this.#call(operation);
    return this.#request(operation, call, call.body);
  }

  /** Makes one thing wrong in a valid request. */
  invalid(): GeneratedRequest {
    const operation = this.random.pick(this.operations);
    const call = this.#call(operation);
    const body = this.#resolved(operation.body ?? {});
    const fields = Object.keys(body.properties ?? {});
    const mutations: (() => GeneratedRequest)[] = [
      () =>
        this.#wrong('an unknown parameter', operation, {
          ...call,
          query: { ...call.query, zzz: '1' },
        }),
    ];
    const params = operation.parameters.filter(
      (each) => each.in === 'path' && each.name !== 'name',
    );
    for (const { name } of params)
      mutations.push(() =>
        this.#wrong(`params.${name}`, operation, {
          ...call,
          params: { ...call.params, [name]: 'a b/c' },
        }),
      );
    for (const { name, schema } of operation.parameters.filter((each) => each.in === 'query'))
      if (name !== 'reason' && name !== 'olderThan')
        mutations.push(() =>
          this.#wrong(`query.${name}`, operation, {
            ...call,
            query: {
              ...call.query,
              [name]: schema.type === 'string' && !schema.pattern ? '' : 'a b/c',
            },
          }),
        );
    if (operation.body) {
      for (const name of fields)
        mutations.push(() =>
          this.#wrong(`body.${name}`, operation, call, { ...call.body, [name]: [['x']] }),
        );
      for (const name of body.required ?? [])
        mutations.push(() => {
          const { [name]: _dropped, ...rest } = call.body;
          return this.#wrong(`no body.${name}`, operation, call, rest);
        });
      mutations.push(() => this.#wrong('a list', operation, call, [call.body]));
      if (body.additionalProperties === false)
        mutations.push(() =>
          this.#wrong('an unknown field', operation, call, { ...call.body, zzz: 1 }),
        );
    }
    return this.random.pick(mutations)();
  }

  #wrong(
    mutation: string,
    operation: Operation,
    call: FuzzCall,
    body: unknown = call.body,
  ): GeneratedRequest {
    return { ...this.#request(operation, call, body), mutation };
  }

  #request(operation: Operation, call: FuzzCall, body: unknown): GeneratedRequest {
    const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(String(call.params[name])),
    );
    const query = Object.entries(call.query).map(
      ([name, value]) => `${name}=${encodeURIComponent(String(value))}`,
    );
    const isSent =
      operation.body !== undefined &&
      (operation.isBodyRequired || Object.keys(body as object).length > 0);
    return {
      call,
      method: operation.method,
      path: query.length === 0 ? path : `${path}?${query.join('&')}`,
      body: isSent ? body : undefined,
    };
  }

  #call({ operationId, parameters, body }: Operation): FuzzCall {
    const { random } = this;
    const selection = random.pick(SELECTIONS);
    const isGiven = ({ name, required }: Parameter): boolean => {
      if (required) return true;
      if (SELECTIONS.includes(name))
        return name === selection ? random.chance(0.9) : random.chance(0.05);
      if (name === 'cluster') return random.chance(0.15);
      if (name === 'olderThan' || name === 'plan') return random.chance(0.5);
      return random.chance(0.4);
    };
    const valuesIn = (place: Parameter['in']): Record<string, never> =>
      Object.fromEntries(
        parameters
          .filter((each) => each.in === place && isGiven(each))
          .map(({ name, schema }) => [name, this.#value(schema, name)]),
      ) as Record<string, never>;
    const params = valuesIn('path') as Record<string, string | number>;
    const isOfLetters = Object.hasOwn(this.#pathOf(operationId), 'dlt');
    if (isOfLetters && params['name'] !== 'orders')
      params['name'] = random.chance(0.8) ? 'orders' : 'gone';
    const query = valuesIn('query') as Record<string, string | number | boolean>;
    if (operationId === 'registerBinding') {
      const autoStartup = random.chance(0.3) ? { autoStartup: false } : {};
      return {
        operation: operationId,
        params,
        query: {},
        body: { ...random.pick(REGISTRATIONS), ...autoStartup },
      };
    }
    return { operation: operationId, params, query, body: body ? this.#object(body) : {} };
  }

  #pathOf(operationId: string): object {
    const { path } = this.operations.find((each) => each.operationId === operationId)!;
    return Object.fromEntries(path.split('/').map((segment) => [segment, true]));
  }

  #object(schema: DocumentSchema): Record<string, unknown> {
    const { properties = {}, required = [] } = this.#resolved(schema);
    const names = Object.keys(properties).filter(
      (name) => required.includes(name) || (!NOT_GENERATED.has(name) && this.random.chance(0.4)),
    );
    return Object.fromEntries(names.map((name) => [name, this.#value(properties[name]!, name)]));
  }

  #value(schema: DocumentSchema, name: string): unknown {
    const { random } = this;
    const { anyOf, const: only, enum: values, type, items } = this.#resolved(schema);
    if (name === 'status' && values?.includes('open') && values.length === 2)
      return 'permanently-failed';
    if (name === 'to' && anyOf?.some((each) => this.#resolved(each).const === 'origin'))
      return random.pick(['origin', { tier: 1 }, { tier: 2 }]);
    if (only !== undefined) return only;
    if (values) return random.pick(values);
    const hints = VALUES[name];
    if (hints) return random.pick(hints);
    if (anyOf) return this.#value(random.pick(anyOf), name);
    if (type === 'array')
      return Array.from({ length: 1 + Math.floor(random.next() * 3) }, () =>
        this.#value(items ?? {}, ''),
      );
    if (type === 'object') return this.#object(schema);
    if (type === 'boolean') return random.chance(0.4);
    throw new Error(`The generator has no value for '${name}'. Add one to VALUES.`);
  }

  #resolved(schema: DocumentSchema): DocumentSchema {
    const name = schema.$ref?.split('/').at(-1);
    return name === undefined ? schema : (this.document.components.schemas[name] as DocumentSchema);
  }
}
