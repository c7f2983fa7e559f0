import { ExternalContextCreator, type NestContainer } from '@nestjs/core';
import { isEnhanced } from './declared-enhancers.js';
import type { HandlerHost } from '../exploring/handler-host.js';

/**
 * Says which enhancers apply: `'local'` those of the class and the method, `'all'` the global
 * enhancers as well.
 */
export type EnhancerScope = 'local' | 'all';

/**
 * Decides whether a record is handled with guards, interceptors, pipes and filters. With `'local'`,
 * a method that declares none is called directly, because Nest's context creators make each call
 * slower.
 */
export function isCalledWithEnhancers(
  scope: EnhancerScope,
  host: HandlerHost,
  method: string,
): boolean {
  return scope === 'all' || isEnhanced(host, method);
}

/**
 * Two of Nest's context creators: one that applies the enhancers of the scope, and one without
 * global enhancers.
 */
export interface ScopedCreators {
  readonly applied: ExternalContextCreator;
  readonly local: ExternalContextCreator;
}

/**
 * Creates the context creators of a scope. A creator applies global enhancers only if it gets the
 * complete container.
 */
export function creatorsOf(container: NestContainer, scope: EnhancerScope): ScopedCreators {
  const local = ExternalContextCreator.fromContainer(withoutGlobals(container));
  return {
    applied: scope === 'all' ? ExternalContextCreator.fromContainer(container) : local,
    local,
  };
}

/**
 * Returns the container without its global enhancers. A context creator needs only the modules of
 * the container.
 */
function withoutGlobals(container: NestContainer): NestContainer {
  const modulesOnly: Partial<NestContainer> = {
    getModules: () => container.getModules(),
    applicationConfig: undefined,
  };
  return modulesOnly as NestContainer;
}
