import type { AdminInput, AdminRoute, AdminRoutes } from './admin-route.js';
import type { Schema } from './schema.js';

/** Who sends the request, and whether the answer is still wanted. */
export interface AdminCaller {
  readonly by: string | undefined;
  /** The path of the API as the client has written it. */
  readonly basePath: string;
  /** Aborts when the client has gone. */
  readonly signal: AbortSignal;
}

type ReplyBody<A> = A extends { readonly body: Schema<infer T> }
  ? { readonly body: A extends { readonly isStream: true } ? AsyncIterable<T> : T }
  : { readonly body?: undefined };

type ReplyLocation<A> = A extends { readonly hasLocation: true }
  ? {
      /** Path of the resource below that of the API: `bindings/orders`. */
      readonly location: string;
    }
  : { readonly location?: undefined };

/** What a route answers: one of its statuses, with the body of that status. */
export type AdminReply<R extends AdminRoute> = {
  readonly [Status in keyof R['answers']]: { readonly status: Status } & ReplyBody<
    R['answers'][Status]
  > &
    ReplyLocation<R['answers'][Status]>;
}[keyof R['answers']];

/** Answers the requests to these routes. */
export type AdminRouteHandlers<R extends AdminRoutes> = {
  readonly [Operation in keyof R]: (
    input: AdminInput<R[Operation]>,
    caller: AdminCaller,
  ) => AdminReply<R[Operation]> | Promise<AdminReply<R[Operation]>>;
};
