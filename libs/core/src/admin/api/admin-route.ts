import type { JsonSchema, Schema, ValueOf } from './schema.js';

/** The rights of the admin API. Each route needs one of them. */
export const ADMIN_RIGHTS = [
  'read',
  'payload',
  'control',
  'redrive',
  'edit',
  'purge',
  'register',
] as const;

export type AdminRight = (typeof ADMIN_RIGHTS)[number];

export type AdminMethod = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** An answer of a route. Without a body, there is none. */
export interface AdminAnswerKind {
  readonly description: string;
  readonly body?: Schema<unknown>;
  /** True if the answer names a resource in its `Location` header. */
  readonly hasLocation?: boolean;
  /** True if the body is sent as server-sent events, one value each. */
  readonly isStream?: boolean;
}

/**
 * A route of the admin API, as data. Controllers, the OpenAPI document, the client and the reference
 * page are made from it.
 */
export interface AdminRoute {
  readonly method: AdminMethod;
  /** Path below that of the API: `bindings/{name}/pause`. */
  readonly path: string;
  readonly right: AdminRight;
  readonly summary: string;
  /** True if the route changes something, so that it answers 503 during a shutdown. */
  readonly changes: boolean;
  /** Parameters of the path, by name. */
  readonly params?: Readonly<Record<string, Schema<unknown>>>;
  /** Parameters of the query, an object schema. */
  readonly query?: Schema<object>;
  readonly body?: Schema<object>;
  /** True if the request may have no body. */
  readonly isBodyOptional?: boolean;
  readonly answers: Readonly<Record<number, AdminAnswerKind>>;
  /** Statuses of errors, besides 400 and those of access. */
  readonly errors?: readonly AdminErrorStatus[];
}

export type AdminErrorStatus = 404 | 409 | 422 | 503;

/** Routes by the names of their operations: `pauseBinding`. */
export type AdminRoutes = Readonly<Record<string, AdminRoute>>;

type ParamsOf<R extends AdminRoute> =
  R['params'] extends Readonly<Record<string, Schema<unknown>>>
    ? { readonly [K in keyof R['params']]: ValueOf<R['params'][K]> }
    : object;

type QueryOf<R extends AdminRoute> = R['query'] extends Schema<infer T> ? T : object;

type BodyOf<R extends AdminRoute> =
  R['body'] extends Schema<infer T> ? (R['isBodyOptional'] extends true ? Partial<T> : T) : object;

/** Everything that a request to the route says, checked. */
export interface AdminInput<R extends AdminRoute> {
  readonly params: ParamsOf<R>;
  readonly query: QueryOf<R>;
  readonly body: BodyOf<R>;
}

type BodyIn<A> = A extends { readonly body: Schema<infer T> } ? T : undefined;

/** The bodies that the route may answer with. */
export type AdminOutput<R extends AdminRoute> = {
  [Status in keyof R['answers']]: BodyIn<R['answers'][Status]>;
}[keyof R['answers']];

/** Keeps the exact type of each route, from which the types of its input and output follow. */
export function defineRoutes<const R extends AdminRoutes>(routes: R): R {
  return routes;
}

/** Returns the schema of the object that holds all parameters of the path. */
export function paramsSchema({ params = {} }: AdminRoute): JsonSchema {
  const properties = Object.fromEntries(
    Object.entries(params).map(([name, { json }]) => [name, json]),
  );
  return { type: 'object', properties, required: Object.keys(params) };
}
