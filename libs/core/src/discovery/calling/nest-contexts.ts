import type { ArgumentsHost, CanActivate, NestInterceptor } from '@nestjs/common';
import { ExternalContextCreator, type ContextId, type NestContainer } from '@nestjs/core';
import { failWhenEmpty } from './awaitable.js';
import type { EnhancerScope } from './enhancers.js';
import { GlobalEnhancerBoundary } from './global-enhancer-boundary.js';
import type { HandlerHost } from '../exploring/handler-host.js';
import { PARAMETERS_KEY } from '../exploring/nest-metadata.js';
import { parameterName } from '../decorators/parameters.js';
import { parameterValue, type HandlerArguments } from './parameter-value.js';

export const CONTEXT_TYPE = 'eventbus';

type Method = (...args: unknown[]) => unknown;

export type Guard = (args: HandlerArguments) => Promise<boolean>;

/** One instance of a host, and where its enhancers are to be looked for. */
export interface EnhancedInstance {
  readonly instance: object;
  readonly callback: Method;
  /** undefined: those that live as long as the application. */
  readonly contextId: ContextId | undefined;
}

/** What ExternalContextCreator keeps to itself. Looked at when a handler is made, so that a change in Nest is a clear error then. */
interface Collaborators {
  readonly guardsContextCreator: {
    create(...place: EnhancerPlace): readonly CanActivate[];
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
    create(...place: EnhancerPlace): {
      invokeCustomFilters(error: unknown, host: ArgumentsHost): unknown;
    };
  };
  readonly interceptorsContextCreator: InterceptorsOf;
  readonly interceptorsConsumer: Interceptors;
}

/** Calls `next`, which calls the method, inside of the interceptors. */
interface Interceptors {
  intercept(
    interceptors: readonly NestInterceptor[],
    args: readonly unknown[],
    instance: object,
    callback: Method,
    next: () => Promise<unknown>,
    type: string,
  ): Promise<unknown>;
}

interface InterceptorsOf {
  create(...place: EnhancerPlace): readonly NestInterceptor[];
}

type EnhancerPlace = [
  instance: object,
  callback: Method,
  moduleKey: string,
  contextId: ContextId | undefined,
  inquirerId: string,
];

/**
 * Nest's own context creators for one handler method. Without the application's configuration they
 * know nothing of global enhancers. Each method has its own: those of Nest 11.1 mix up
 * the parameters of classes that have the same name.
 */
export class NestContexts {
  readonly #creator: ExternalContextCreator;
  readonly #collaborators: Collaborators;
  /** Without what is global. */
  readonly #local: Collaborators;
  /** Where nothing is global, nothing stands between it and the handler. */
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
    // Nest looks among providers only: the guards of a controller would be skipped.
    Object.assign(this.#creator, { getContextModuleKey: () => host.moduleKey });
    this.#collaborators = collaboratorsOf(this.#creator);
    const { interceptorsConsumer } = this.#collaborators;
    Object.assign(this.#creator, { interceptorsConsumer: withResult(interceptorsConsumer) });
    this.#local = collaboratorsOf(local);
  }

  /** What resolves to whether all guards agree: those that are global, and the handler's own. */
  guards(of: EnhancedInstance): { readonly global: Guard; readonly own: Guard } {
    const place = this.#place(of);
    const all = this.#collaborators.guardsContextCreator.create(...place);
    const own = this.#local.guardsContextCreator.create(...place);
    return {
      global: this.#guard(all.slice(0, all.length - own.length), of),
      own: this.#guard(own, of),
    };
  }

  #guard(guards: readonly CanActivate[], { instance, callback }: EnhancedInstance): Guard {
    const { guardsConsumer } = this.#collaborators;
    return (args) => guardsConsumer.tryActivate(guards, args, instance, callback, CONTEXT_TYPE);
  }

  /** The interceptors around the pipes around the method. */
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

  /** Hands an error to the filter that catches it, if one does. */
  filter(of: EnhancedInstance): (error: unknown, host: ArgumentsHost) => unknown {
    const filters = this.#collaborators.filtersContextCreator.create(...this.#place(of));
    return (error, host) => filters.invokeCustomFilters(error, host);
  }

  #place({ instance, callback, contextId }: EnhancedInstance): EnhancerPlace {
    return [instance, callback, this.host.moduleKey, contextId, this.host.id];
  }
}

function exchangeKeyForValue(number: number, data: unknown, args: HandlerArguments): unknown {
  const name = parameterName(number);
  return name && parameterValue(name, data as string | undefined, args);
}

/** The context creators ask a container for its modules, and for the globals that they shall not see. */
function withoutGlobals(container: NestContainer): NestContainer {
  const modulesOnly: Partial<NestContainer> = {
    getModules: () => container.getModules(),
    applicationConfig: undefined,
  };
  return modulesOnly as NestContainer;
}

/** Nest has global interceptors first, then those of the class, then those of the method. */
function boundaryBetween(
  creator: ExternalContextCreator,
  local: ExternalContextCreator,
  origin: string,
): GlobalEnhancerBoundary {
  const boundary = new GlobalEnhancerBoundary(origin);
  const all = collaboratorsOf(creator).interceptorsContextCreator;
  const own = collaboratorsOf(local).interceptorsContextCreator;
  const interceptorsContextCreator: InterceptorsOf = {
    create: (...place) => {
      const found = all.create(...place);
      return found.toSpliced(found.length - own.create(...place).length, 0, boundary);
    },
  };
  Object.assign(creator, { interceptorsContextCreator });
  return boundary;
}

/** Nest fails a call that gives no value. A method's Observable may well have done its work without one. */
function withResult(interceptors: Interceptors): Interceptors {
  return {
    intercept: (found, args, instance, callback, next, type) =>
      interceptors.intercept(
        found,
        args,
        instance,
        callback,
        async () => failWhenEmpty(await next()),
        type,
      ),
  };
}

function collaboratorsOf(creator: ExternalContextCreator): Collaborators {
  const found = creator as unknown as Partial<Collaborators>;
  const { guardsContextCreator, guardsConsumer, filtersContextCreator } = found;
  const { interceptorsContextCreator, interceptorsConsumer } = found;
  if (
    !guardsContextCreator ||
    !guardsConsumer ||
    !filtersContextCreator ||
    !interceptorsContextCreator ||
    !interceptorsConsumer
  ) {
    throw new Error(
      'This version of @nestjs/core keeps its guards, filters or interceptors elsewhere: the event bus cannot apply enhancers with it. Use one that the event bus supports.',
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
