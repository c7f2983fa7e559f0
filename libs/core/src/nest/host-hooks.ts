interface MaybeOnModuleDestroy {
  onModuleDestroy?: () => unknown;
}

/**
 * Makes the destroy hook of an instance wait for the drain.
 *
 * Nest destroys modules in an order that depends on their imports, so neither a global nor a local
 * bus module is always destroyed before the handlers' dependencies. But Nest destroys an instance
 * before its dependencies, so the first host that is destroyed starts the drain.
 *
 * Returns false if the instance is frozen, because no hook can be added to it.
 */
export function drainBeforeDestroy(host: object, drain: () => Promise<unknown>): boolean {
  if (!Object.isExtensible(host)) return false;
  const original = (host as MaybeOnModuleDestroy).onModuleDestroy;
  Object.defineProperty(host, 'onModuleDestroy', {
    configurable: true,
    enumerable: false,
    writable: true,
    value: async (): Promise<unknown> => {
      await drain();
      return original?.call(host);
    },
  });
  return true;
}
