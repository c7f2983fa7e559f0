import type { NestContainer } from '@nestjs/core';
import type { HandlerHost } from '../exploring/handler-host.js';
import { ENHANCER_KEYS } from '../exploring/nest-metadata.js';
import { declaredParameters } from '../decorators/parameters.js';

interface DeclaredEnhancer {
  readonly kind: string;
  /** The enhancer: a class, which Nest instantiates, or an instance. */
  readonly enhancer: unknown;
}

/**
 * Returns true if the method has enhancers or a custom parameter. Then Nest's context creator must
 * make the call.
 */
export function isEnhanced(host: HandlerHost, method: string): boolean {
  return (
    declaredEnhancers(host, method).length > 0 ||
    declaredParameters(host.type, method).some(({ isCustom }) => isCustom)
  );
}

/**
 * Finds enhancers that Nest would not call, without an error: Nest instantiates only the enhancers
 * of classes that it constructs itself. A guard that is not called would let every record pass.
 */
export function missingEnhancers(
  container: NestContainer,
  host: HandlerHost,
  method: string,
): readonly string[] {
  const injectables = container.getModules().get(host.moduleKey)?.injectables;
  return declaredEnhancers(host, method)
    .filter(({ enhancer }) => typeof enhancer === 'function' && !injectables?.has(enhancer))
    .map(
      ({ kind, enhancer }) =>
        `the ${kind} ${(enhancer as { readonly name: string }).name} has no instance. Nest makes one only where it constructs ${host.type.name} itself: not for a factory or a value, nor, in its older versions, for { provide: TOKEN, useClass }. Provide the class under its own name, or pass an instance of the ${kind}.`,
    );
}

/**
 * Returns the kinds of request-scoped global enhancers. Nest instantiates such enhancers for
 * controllers, but not for a provider that is a singleton.
 */
export function scopedGlobals({ applicationConfig }: NestContainer): readonly string[] {
  const byKind = {
    guards: applicationConfig?.getGlobalRequestGuards(),
    interceptors: applicationConfig?.getGlobalRequestInterceptors(),
    pipes: applicationConfig?.getGlobalRequestPipes(),
    filters: applicationConfig?.getGlobalRequestFilters(),
  };
  return Object.entries(byKind).flatMap(([kind, each]) => (each?.length ? [kind] : []));
}

function declaredEnhancers(
  { type, prototype }: HandlerHost,
  method: string,
): readonly DeclaredEnhancer[] {
  const declared = Object.entries(ENHANCER_KEYS).flatMap(([kind, key]) =>
    [type, prototype[method] as object]
      .flatMap((carrier) => (Reflect.getMetadata(key, carrier) as unknown[] | undefined) ?? [])
      .map((enhancer) => ({ kind, enhancer })),
  );
  const pipes = declaredParameters(type, method).flatMap((parameter) => parameter.pipes);
  return [...declared, ...pipes.map((enhancer) => ({ kind: 'pipe', enhancer }))];
}
