/** How a binding is named: bare where its name is unique, with its cluster where it is not. */
export type BindingRef = string | { readonly cluster: string; readonly name: string };

/** Clusters contain no colon, so the first one parts the two: no two bindings share a key. */
export function bindingKey(cluster: string, name: string): string {
  return `${cluster}:${name}`;
}

export function bindingNameOf(ref: BindingRef): string {
  return typeof ref === 'string' ? ref : ref.name;
}
