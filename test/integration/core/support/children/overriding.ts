/**
 * Returns the object with these methods replaced. Its other methods run on the object itself, because of its
 * private fields.
 */
export function overriding<T extends object>(target: T, own: Partial<T>): T {
  return new Proxy(target, {
    get: (_, key) => {
      if (key in own) return Reflect.get(own, key);
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
