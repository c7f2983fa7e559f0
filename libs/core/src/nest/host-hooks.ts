interface MaybeOnModuleDestroy {
  onModuleDestroy?: () => unknown;
}

/**
 * Makes the destroy hook of an instance wait for the drain.
 *
 * Nest destroys modules in an order that depends on how they import each other; neither a global
 * nor a local bus comes before the handlers' dependencies in all layouts. But Nest destroys an
 * instance before its dependencies, so the drain starts with the first host of a handler.
 * Returns false if the instance is frozen, so that no hook can be added.
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
