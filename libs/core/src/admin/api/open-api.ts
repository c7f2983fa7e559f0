import {
  paramsSchema,
  type AdminAnswerKind,
  type AdminRoute,
  type AdminRoutes,
} from './admin-route.js';
import type { JsonSchema } from './schema.js';
import { problem } from './schemas/common-schemas.js';

type Json = Readonly<Record<string, unknown>>;

/** An OpenAPI 3.1 document. */
export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Json>> };
}

export interface OpenApiOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly Json[];
  readonly requestBody?: Json;
  readonly responses: Readonly<Record<string, Json>>;
}

/** What an error status means, in every route that may answer it. */
const ERRORS: Readonly<Record<number, string>> = {
  400: 'The request is not valid. Nothing was done.',
  403: 'The right is not allowed, or the request comes from a page of another origin.',
  404: 'There is no such binding, tier, operation or letter.',
  409: 'The present state does not allow the command, or the name is ambiguous.',
  422: 'There is no handler for the binding.',
  503: 'The bus is shutting down or disabled, or the brokers do not answer.',
};

const PROBLEM_TYPE = 'application/problem+json';

/** Describes the routes. Schemas with a name are listed once, as components. */
export function openApiDocument(routes: AdminRoutes, basePath = ''): OpenApiDocument {
  const components = new Components();
  const paths: Record<string, Record<string, OpenApiOperation>> = {};
  for (const [operationId, route] of Object.entries(routes)) {
    const path = `${basePath}/${route.path}`;
    const operation = openApiOperation(operationId, route, (schema) => components.refer(schema));
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Event bus admin API',
      version: '1.0.0',
      description:
        'Commands and figures of the event bus of one application. Offsets are decimal text, times ISO 8601.',
    },
    paths,
    components: { schemas: components.all },
  };
}

/** Describes one route. `show` writes its schemas. */
export function openApiOperation(
  operationId: string,
  route: AdminRoute,
  show: (schema: JsonSchema) => Json,
): OpenApiOperation {
  const parameters = [
    ...parametersIn('path', paramsSchema(route), show),
    ...parametersIn('query', route.query?.json ?? {}, show),
  ];
  return {
    operationId,
    summary: route.summary,
    description: `Needs the right \`${route.right}\`.`,
    tags: ['event bus'],
    ...(parameters.length > 0 && { parameters }),
    ...(route.body && {
      requestBody: {
        required: route.isBodyOptional !== true,
        content: { 'application/json': { schema: show(route.body.json) } },
      },
    }),
    responses: { ...answersOf(route, show), ...errorsOf(route, show) },
  };
}

function parametersIn(
  place: 'path' | 'query',
  { properties = {}, required = [] }: JsonSchema,
  show: (schema: JsonSchema) => Json,
): readonly Json[] {
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: place,
    required: required.includes(name),
    ...(description !== undefined && { description }),
    schema: show(schema),
  }));
}

function answersOf(
  { answers }: AdminRoute,
  show: (schema: JsonSchema) => Json,
): Readonly<Record<string, Json>> {
  return Object.fromEntries(
    Object.entries(answers).map(([status, answer]) => [status, answerOf(answer, show)]),
  );
}

function answerOf(
  { description, body, hasLocation, isStream }: AdminAnswerKind,
  show: (schema: JsonSchema) => Json,
): Json {
  const mediaType = isStream ? 'text/event-stream' : 'application/json';
  return {
    description,
    ...(hasLocation && {
      headers: { Location: { description: 'The resource.', schema: { type: 'string' } } },
    }),
    ...(body && { content: { [mediaType]: { schema: show(body.json) } } }),
  };
}

function errorsOf(
  { errors = [], changes }: AdminRoute,
  show: (schema: JsonSchema) => Json,
): Readonly<Record<string, Json>> {
  const statuses = new Set([400, 403, ...errors, ...(changes ? [503] : [])]);
  const content = { [PROBLEM_TYPE]: { schema: show(problem.json) } };
  return Object.fromEntries(
    [...statuses].map((status) => [status, { description: ERRORS[status], content }]),
  );
}

/** Collects the schemas that have a name. */
class Components {
  readonly #found = new Map<string, Json>();

  get all(): Readonly<Record<string, Json>> {
    return Object.fromEntries([...this.#found].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  refer(schema: JsonSchema): Json {
    const { title, ...rest } = schema;
    if (title === undefined) return this.#inner(rest);
    if (!this.#found.has(title)) {
      this.#found.set(title, {});
      this.#found.set(title, this.#inner(rest));
    }
    return { $ref: `#/components/schemas/${title}` };
  }

  #inner(schema: JsonSchema): Json {
    const { properties, items, anyOf, additionalProperties, ...rest } = schema;
    return {
      ...rest,
      ...(properties && {
        properties: Object.fromEntries(
          Object.entries(properties).map(([name, each]) => [name, this.refer(each)]),
        ),
      }),
      ...(items && { items: this.refer(items) }),
      ...(anyOf && { anyOf: anyOf.map((each) => this.refer(each)) }),
      ...(additionalProperties !== undefined && {
        additionalProperties:
          typeof additionalProperties === 'boolean'
            ? additionalProperties
            : this.refer(additionalProperties),
      }),
    };
  }
}
