import type { BindingRef } from '../../model/states/binding-ref.js';
import type { AdminCaller } from '../api/admin-reply.js';
import type { CommandNote } from '../../containers/lifecycle/lifecycle-manager.js';

/** Names the binding of a request, with its cluster if the request names one. */
export function bindingRef({
  params: { name },
  query: { cluster },
}: {
  readonly params: { readonly name: string };
  readonly query: { readonly cluster?: string };
}): BindingRef {
  return cluster === undefined ? name : { cluster, name };
}

/** Returns who gives the command, and why. */
export function noteOf({ by }: AdminCaller, { reason }: { readonly reason?: string }): CommandNote {
  return { ...(by !== undefined && { by }), ...(reason !== undefined && { reason }) };
}

/** Returns the path of a resource, whose names may contain any character. */
export function pathOf(...segments: readonly string[]): string {
  return segments.map(encodeURIComponent).join('/');
}
