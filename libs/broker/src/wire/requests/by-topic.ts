/** Groups the items by topic, in the order in which the topics first appear. */
export function byTopic<T extends { readonly topic: string }>(
  items: readonly T[],
): readonly (readonly [topic: string, items: readonly T[]])[] {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(item.topic);
    if (group) group.push(item);
    else groups.set(item.topic, [item]);
  }
  return [...groups];
}
