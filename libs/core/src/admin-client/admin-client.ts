import type { AdminInput, AdminOutput, AdminRoute, AdminRoutes } from '../admin/api/admin-route.js';
import { ADMIN_ROUTES, type EventBusAdminRoutes } from '../admin/api/routes/admin-routes.js';
import { AdminClientError, readProblem } from './admin-client-error.js';
import { readEventStream, type ByteStream } from './event-stream.js';

/** The part of the answer of `fetch` that the client uses. */
export interface FetchResponse {
  readonly ok: boolean;
  readonly status: number;
  readonly body: ByteStream | null;
  text(): Promise<string>;
}

/** The part of `fetch` that the client uses. */
export type FetchFunction = (
  url: string,
  request: {
    readonly method: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: string;
    readonly signal?: AbortSignal;
  },
) => Promise<FetchResponse>;

export interface AdminClientOptions {
  /** Address of the API: `https://orders.example.com/eventbus`, or `/eventbus` in its own page. */
  readonly url: string;
  /** Default: the `fetch` of the platform. */
  readonly fetch?: FetchFunction;
  /** Headers of each request, such as the authorisation. */
  readonly headers?: () => Readonly<Record<string, string>>;
}

type Part<Key extends string, Value> = object extends Value
  ? { readonly [K in Key]?: Value }
  : { readonly [K in Key]: Value };

/** What a call says: the parameters of the path and of the query, and the body. */
export type AdminClientRequest<R extends AdminRoute> = Part<'params', AdminInput<R>['params']> &
  Part<'query', AdminInput<R>['query']> &
  Part<'body', AdminInput<R>['body']> & { readonly signal?: AbortSignal };

type IsStream<R extends AdminRoute> = R['answers'] extends {
  readonly 200: { readonly isStream: true };
}
  ? true
  : false;

type Result<R extends AdminRoute> =
  IsStream<R> extends true ? AsyncIterable<AdminOutput<R>> : Promise<AdminOutput<R>>;

type Call<R extends AdminRoute> =
  object extends AdminClientRequest<R>
    ? (request?: AdminClientRequest<R>) => Result<R>
    : (request: AdminClientRequest<R>) => Result<R>;

/** A method for each route. It resolves with the body of the answer. */
export type AdminClient<R extends AdminRoutes = EventBusAdminRoutes> = {
  readonly [Operation in keyof R]: Call<R[Operation]>;
};

interface AnyRequest {
  readonly params?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/** Creates a client of the routes of the event bus. */
export function createAdminClient(options: AdminClientOptions): AdminClient;
/** Creates a client of the given routes. */
export function createAdminClient<R extends AdminRoutes>(
  options: AdminClientOptions,
  routes: R,
): AdminClient<R>;
export function createAdminClient(
  options: AdminClientOptions,
  routes: AdminRoutes = ADMIN_ROUTES,
): unknown {
  const calls = Object.entries(routes).map(([operation, route]) => [
    operation,
    route.answers[200]?.isStream
      ? (request: AnyRequest = {}) => stream(options, route, request)
      : (request: AnyRequest = {}) => call(options, route, request),
  ]);
  return Object.fromEntries(calls) as unknown;
}

async function call(
  options: AdminClientOptions,
  route: AdminRoute,
  request: AnyRequest,
): Promise<unknown> {
  const response = await send(options, route, request, 'application/json');
  const text = await response.text();
  return text === '' ? undefined : (JSON.parse(text) as unknown);
}

async function* stream(
  options: AdminClientOptions,
  route: AdminRoute,
  request: AnyRequest,
): AsyncGenerator<unknown, void> {
  const response = await send(options, route, request, 'text/event-stream');
  if (response.body) yield* readEventStream(response.body);
}

async function send(
  { url, headers, fetch: given }: AdminClientOptions,
  route: AdminRoute,
  { params = {}, query = {}, body, signal }: AnyRequest,
  accept: string,
): Promise<FetchResponse> {
  const fetchIt = given ?? globalThis.fetch;
  const response = await fetchIt(
    `${url.replace(/\/$/, '')}/${pathOf(route, params)}${queryOf(query)}`,
    {
      method: route.method,
      headers: {
        accept,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers?.(),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    },
  );
  if (response.ok) return response;
  throw new AdminClientError(response.status, readProblem(await response.text()));
}

function pathOf({ path }: AdminRoute, params: Readonly<Record<string, unknown>>): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(params[name])),
  );
}

function queryOf(query: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const text = new URLSearchParams(
    given.map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();
  return text === '' ? '' : `?${text}`;
}
