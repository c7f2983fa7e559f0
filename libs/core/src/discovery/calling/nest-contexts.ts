import type { ArgumentsHost, CanActivate, NestInterceptor } from '@nestjs/common';
import { ExternalContextCreator, type ContextId, type NestContainer } from '@nestjs/core';
import { withDefaultValue } from './awaitable.js';
import type { EnhancerScope } from './enhancers.js';
import { GlobalEnhancerBoundary } from './global-enhancer-boundary.js';
import type { HandlerHost } from '../exploring/handler-host.js';
import { PARAMETERS_KEY } from '../exploring/nest-metadata.js';
import { parameterName } from '../decorators/parameters.js';
import { parameterValue, type HandlerArguments } from './parameter-value.js';

export const CONTEXT_TYPE = 'eventbus';

type Method = (...args: unknown[]) => unknown;

export type Guard = (args: HandlerArguments) => Promise<boolean>;

/** An instance of a host with the method to call, for which Nest looks up enhancers. */
export interface EnhancedInstance {
  readonly instance: object;
  readonly callback: Method;
  /** Id of the request scope; undefined for the singletons. */
  readonly contextId: ContextId | undefined;
}

/**
 * Private members of ExternalContextCreator. They are checked when a handler is created, so that a
 * change in Nest gives a clear error at startup.
 */
interface CreatorInternals {
  readonly guardsContextCreator: {
    create(...lookup: EnhancerLookup): readonly CanActivate[];
  };
  readonly guardsConsumer: {
    tryActivate(
      guards: readonly CanActivate[],
      args: readonly unknown[],
      instance: object,
      callback: Method,
      type: string,
    ): Promise<boolean>;
  };
  readonly filtersContextCreator: {
    create(...lookup: EnhancerLookup): {
      invokeCustomFilters(error: unknown, host: ArgumentsHost): unknown;
    };
  };
  readonly interceptorsContextCreator: InterceptorsContextCreator;
  readonly interceptorsConsumer: InterceptorsConsumer;
}

/** Runs the interceptors around `next`, which calls the method. */
interface InterceptorsConsumer {
  intercept(
    interceptors: readonly NestInterceptor[],
    args: readonly unknown[],
    instance: object,
    callback: Method,
    next: () => Promise<unknown>,
    type: string,
  ): Promise<unknown>;
}

interface InterceptorsContextCreator {
  create(...lookup: EnhancerLookup): readonly NestInterceptor[];
}

type EnhancerLookup = [
  instance: object,
  callback: Method,
  moduleKey: string,
  contextId: ContextId | undefined,
  inquirerId: string,
];

/**
 * Nest's own context creators for one handler method. A creator without the configuration of the
 * application does not know global enhancers. Each method gets its own creators, because those of
 * Nest 11.1 confuse the parameters of classes that have the same name.
 */
export class NestContexts {
  readonly #creator: ExternalContextCreator;
  readonly #internals: CreatorInternals;
  /** Context creators without global enhancers. */
  readonly #local: CreatorInternals;
  /** Boundary between global and local enhancers. undefined if no global enhancers are applied. */
  readonly #boundary: GlobalEnhancerBoundary | undefined;

  constructor(
    container: NestContainer,
    scope: EnhancerScope,
    private readonly host: HandlerHost,
    private readonly method: string,
  ) {
    const local = ExternalContextCreator.fromContainer(withoutGlobals(container));
    this.#creator = scope === 'all' ? ExternalContextCreator.fromContainer(container) : local;
    this.#boundary =
      scope === 'all'
        ? boundaryBetween(this.#creator, local, `${host.type.name}.${method}`)
        : undefined;
    // Nest itself searches only providers, so the guards of a controller would be skipped.
    Object.assign(this.#creator, { getContextModuleKey: () => host.moduleKey });
    this.#internals = internalsOf(this.#creator);
    const { interceptorsConsumer } = this.#internals;
    Object.assign(this.#creator, { interceptorsConsumer: withResult(interceptorsConsumer) });
    this.#local = internalsOf(local);
  }

  /**
   * Returns the global guards and the handler's own guards, each as one function that resolves to
   * true if all of them agree.
   */
  guards(of: EnhancedInstance): { readonly global: Guard; readonly own: Guard } {
    const lookup = this.#lookup(of);
    const all = this.#internals.guardsContextCreator.create(...lookup);
    const own = this.#local.guardsContextCreator.create(...lookup);
    return {
      global: this.#guard(all.slice(0, all.length - own.length), of),
      own: this.#guard(own, of),
    };
  }

  #guard(guards: readonly CanActivate[], { instance, callback }: EnhancedInstance): Guard {
    const { guardsConsumer } = this.#internals;
    return (args) => guardsConsumer.tryActivate(guards, args, instance, callback, CONTEXT_TYPE);
  }

  /** Returns a call of the method with its interceptors and pipes. */
  call({ instance, callback, contextId }: EnhancedInstance): (args: HandlerArguments) => unknown {
    const call = this.#creator.create(
      instance,
      callback,
      this.method,
      PARAMETERS_KEY,
      { exchangeKeyForValue },
      contextId,
      this.host.id,
      { guards: false, interceptors: true, filters: false },
      CONTEXT_TYPE,
    );
    const boundary = this.#boundary;
    if (!boundary) return (args) => call(...args) as unknown;
    return (args) => boundary.around(args, () => call(...args) as unknown);
  }

  /** Returns a function that passes an error to the filter that catches it, if there is one. */
  filter(of: EnhancedInstance): (error: unknown, host: ArgumentsHost) => unknown {
    const filters = this.#internals.filtersContextCreator.create(...this.#lookup(of));
    return (error, host) => filters.invokeCustomFilters(error, host);
  }

  #lookup({ instance, callback, contextId }: EnhancedInstance): EnhancerLookup {
    return [instance, callback, this.host.moduleKey, contextId, this.host.id];
  }
}

function exchangeKeyForValue(number: number, data: unknown, args: HandlerArguments): unknown {
  const name = parameterName(number);
  return name && parameterValue(name, data as string | undefined, args);
}

/** Hides the global enhancers of the container. The context creators otherwise need only its modules. */
function withoutGlobals(container: NestContainer): NestContainer {
  const modulesOnly: Partial<NestContainer> = {
    getModules: () => container.getModules(),
    applicationConfig: undefined,
  };
  return modulesOnly as NestContainer;
}

/**
 * Inserts the boundary between global and own interceptors: Nest lists global ones first, then
 * those of the class and of the method.
 */
function boundaryBetween(
  creator: ExternalContextCreator,
  local: ExternalContextCreator,
  origin: string,
): GlobalEnhancerBoundary {
  const boundary = new GlobalEnhancerBoundary(origin);
  const all = internalsOf(creator).interceptorsContextCreator;
  const own = internalsOf(local).interceptorsContextCreator;
  const interceptorsContextCreator: InterceptorsContextCreator = {
    create: (...lookup) => {
      const interceptors = all.create(...lookup);
      return interceptors.toSpliced(
        interceptors.length - own.create(...lookup).length,
        0,
        boundary,
      );
    },
  };
  Object.assign(creator, { interceptorsContextCreator });
  return boundary;
}

/**
 * Lets an Observable of the method complete without a value, which Nest would treat as a failure
 * although the work is done.
 */
function withResult(consumer: InterceptorsConsumer): InterceptorsConsumer {
  return {
    intercept: (interceptors, args, instance, callback, next, type) =>
      consumer.intercept(
        interceptors,
        args,
        instance,
        callback,
        async () => withDefaultValue(await next()),
        type,
      ),
  };
}

function internalsOf(creator: ExternalContextCreator): CreatorInternals {
  const internals = creator as unknown as Partial<CreatorInternals>;
  const { guardsContextCreator, guardsConsumer, filtersContextCreator } = internals;
  const { interceptorsContextCreator, interceptorsConsumer } = internals;
  if (
    !guardsContextCreator ||
    !guardsConsumer ||
    !filtersContextCreator ||
    !interceptorsContextCreator ||
    !interceptorsConsumer
  ) {
    throw new Error(
      'The event bus cannot apply enhancers with this version of @nestjs/core, because its internal structure has changed. Use a version that the event bus supports.',
    );
  }
  return {
    guardsContextCreator,
    guardsConsumer,
    filtersContextCreator,
    interceptorsContextCreator,
    interceptorsConsumer,
  };
}
