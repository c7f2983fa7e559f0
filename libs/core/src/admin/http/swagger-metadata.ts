import type { AdminRoute } from '../api/admin-route.js';
import { openApiOperation } from '../api/open-api.js';
import type { JsonSchema } from '../api/schema.js';

type Json = Readonly<Record<string, unknown>>;
type Content = Readonly<Record<string, { readonly schema: Json }>>;

/**
 * Writes the metadata that the decorators of `@nestjs/swagger` write, so that a document of the
 * application includes the routes. The package itself is not needed.
 */
export function describeForSwagger(method: object, operationId: string, route: AdminRoute): void {
  const {
    parameters = [],
    requestBody,
    responses,
    ...operation
  } = openApiOperation(operationId, route, inlined);
  const define = (key: string, value: unknown): void =>
    Reflect.defineMetadata(`swagger/${key}`, value, method);
  define('apiOperation', operation);
  define('apiUseTags', operation.tags);
  define('apiParameters', [...parameters.map(withType), ...bodyParameter(requestBody)]);
  define(
    'apiResponse',
    Object.fromEntries(
      Object.entries(responses).map(([status, { content, ...response }]) => [
        status,
        { ...response, ...(content !== undefined && { content }) },
      ]),
    ),
  );
}

/** The explorer looks for a type first. The schema replaces what it finds. */
const withType = (parameter: Json): Json => ({ ...parameter, type: String });

function bodyParameter(requestBody: Json | undefined): readonly Json[] {
  if (!requestBody) return [];
  const [schema] = Object.values(requestBody['content'] as Content).map((each) => each.schema);
  return [withType({ in: 'body', name: 'body', required: requestBody['required'], schema })];
}

/** Writes a schema without references, because its components would not be in that document. */
function inlined({ title: _title, ...schema }: JsonSchema): Json {
  const { properties, items, anyOf, additionalProperties, ...rest } = schema;
  return {
    ...rest,
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, each]) => [name, inlined(each)]),
      ),
    }),
    ...(items && { items: inlined(items) }),
    ...(anyOf && { anyOf: anyOf.map(inlined) }),
    ...(additionalProperties !== undefined && {
      additionalProperties:
        typeof additionalProperties === 'boolean'
          ? additionalProperties
          : inlined(additionalProperties),
    }),
  };
}
