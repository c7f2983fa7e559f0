/** Names a binding: by its name alone if that is unique, otherwise together with its cluster. */
export type BindingRef = string | { readonly cluster: string; readonly name: string };

/**
 * Returns a unique key. Cluster names contain no colon, so the first colon separates cluster and
 * name.
 */
export function bindingKey(cluster: string, name: string): string {
  return `${cluster}:${name}`;
}

export function bindingNameOf(ref: BindingRef): string {
  return typeof ref === 'string' ? ref : ref.name;
}
