import { InvalidAdminRequestException } from '../../errors/admin-errors.js';
import { paramsSchema, type AdminInput, type AdminRoute } from '../api/admin-route.js';
import { readText } from '../api/read-text.js';
import type { JsonSchema } from '../api/schema.js';
import { complaintsAbout, type Complaint } from '../api/schema-check.js';

/** The parts that requests of Express and Fastify have in common. */
export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly originalUrl?: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly params?: unknown;
  readonly query?: unknown;
  readonly body?: unknown;
}

/** Reads what a request says, and compares it with the schemas of its route. */
export function readRequest(
  route: AdminRoute,
  { params, query, body }: HttpRequest,
): AdminInput<AdminRoute> {
  const readParams = readTexts(paramsSchema(route), params);
  const querySchema = route.query?.json ?? { type: 'object', additionalProperties: false };
  const readQuery = readTexts(querySchema, query);
  const readBody = body ?? (route.body && !route.isBodyOptional ? undefined : {});
  const complaints = [
    ...under('params', complaintsAbout(paramsSchema(route), readParams)),
    ...under('query', complaintsAbout(querySchema, readQuery)),
    ...(route.body ? bodyComplaints(route.body.json, readBody) : []),
  ];
  if (complaints.length > 0) throw new InvalidAdminRequestException(complaints);
  return { params: readParams, query: readQuery, body: readBody } as AdminInput<AdminRoute>;
}

/** Copies own properties only, because parsers return objects with and without a prototype. */
function readTexts(
  { properties = {} }: JsonSchema,
  given: unknown,
): Readonly<Record<string, unknown>> {
  const entries = Object.entries(typeof given === 'object' && given !== null ? given : {});
  return Object.fromEntries(
    entries.map(([name, value]) => [
      name,
      Object.hasOwn(properties, name) ? readText(properties[name] ?? {}, value) : value,
    ]),
  );
}

function bodyComplaints(schema: JsonSchema, body: unknown): readonly Complaint[] {
  if (body === undefined)
    return [{ path: 'body', message: 'is missing. Send it as application/json' }];
  return under('body', complaintsAbout(schema, body));
}

function under(place: string, complaints: readonly Complaint[]): readonly Complaint[] {
  return complaints.map(({ path, message }) => ({
    path: path === '' ? place : `${place}.${path}`,
    message,
  }));
}
