/** Names a binding: by its bare name if that is unique, else with its cluster. */
export type BindingRef = string | { readonly cluster: string; readonly name: string };

/** Unique per binding: names of clusters contain no colon, so the first colon separates the two. */
export function bindingKey(cluster: string, name: string): string {
  return `${cluster}:${name}`;
}

export function bindingNameOf(ref: BindingRef): string {
  return typeof ref === 'string' ? ref : ref.name;
}
