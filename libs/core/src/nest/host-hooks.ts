interface MayDestroy {
  onModuleDestroy?: () => unknown;
}

/**
 * Lets the drain come before the end of an instance that holds handlers.
 *
 * Nest destroys modules in an order that depends on how they import each other; neither a global
 * nor a local bus comes before the handlers' dependencies in all layouts. Nest does destroy an
 * instance before what it depends on, so the drain begins with the first handler's host.
 * Returns false where nothing can be added.
 */
export function drainBeforeDestroy(host: object, drain: () => Promise<unknown>): boolean {
  if (!Object.isExtensible(host)) return false;
  const original = (host as MayDestroy).onModuleDestroy;
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
