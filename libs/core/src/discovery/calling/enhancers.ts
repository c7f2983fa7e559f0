import type { NestContainer } from '@nestjs/core';
import type { HandlerHost } from '../exploring/handler-host.js';
import { ENHANCER_KEYS } from '../exploring/nest-metadata.js';
import { declaredParameters } from '../decorators/parameters.js';

/** `'local'`: what the class and the method declare. `'all'`: what is global as well. */
export type EnhancerScope = 'local' | 'all';

interface DeclaredEnhancer {
  readonly kind: string;
  /** A class, which Nest instantiates, or an object that is ready. */
  readonly enhancer: unknown;
}

/** Whether anything of Nest's has a part in the call, so that Nest must make it. */
export function isEnhanced(host: HandlerHost, method: string): boolean {
  return (
    declaredEnhancers(host, method).length > 0 ||
    declaredParameters(host.type, method).some(({ isCustom }) => isCustom)
  );
}

/**
 * Enhancers that would be left out in silence: Nest instantiates those of classes it constructs
 * itself. A guard that is skipped lets everybody in.
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

/** Global enhancers that live for one request exist for controllers and the like, and for no static provider. */
export function scopedGlobals({ applicationConfig }: NestContainer): readonly string[] {
  const found = {
    guards: applicationConfig?.getGlobalRequestGuards(),
    interceptors: applicationConfig?.getGlobalRequestInterceptors(),
    pipes: applicationConfig?.getGlobalRequestPipes(),
    filters: applicationConfig?.getGlobalRequestFilters(),
  };
  return Object.entries(found).flatMap(([kind, each]) => (each?.length ? [kind] : []));
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
