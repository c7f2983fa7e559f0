import type { Type } from '@nestjs/common';
import { ContextIdFactory, ModuleRef, type ContextId, type DiscoveryService } from '@nestjs/core';

type InstanceWrapper = ReturnType<DiscoveryService['getProviders']>[number];

interface HostIdentity {
  /** Class of the instance. */
  readonly type: Type<unknown>;
  readonly prototype: Readonly<{ [member: string]: unknown }>;
  readonly module: string;
  /** Key of the module in which Nest finds the enhancers of the host. */
  readonly moduleKey: string;
  readonly id: string;
}

/** A singleton. */
export interface StaticHost extends HostIdentity {
  readonly kind: 'static';
  readonly instance: object;
}

/** A request-scoped or transient provider. Each call creates an instance; none exists before. */
export interface ScopedHost extends HostIdentity {
  readonly kind: 'scoped';
  resolve(request: object): Promise<ScopedInstance>;
}

export interface ScopedInstance {
  readonly instance: object;
  readonly contextId: ContextId;
}

export type HandlerHost = StaticHost | ScopedHost;

/**
 * Returns the providers and controllers of an application. An instance with several tokens is
 * returned once.
 */
export function findHosts(wrappers: readonly InstanceWrapper[]): readonly HandlerHost[] {
  const hosts = new Map<object, HandlerHost>();
  for (const wrapper of classesFirst(wrappers)) {
    const host = hostOf(wrapper);
    const identity = host?.kind === 'static' ? host.instance : wrapper;
    if (host && !hosts.has(identity)) hosts.set(identity, host);
  }
  return [...hosts.values()];
}

/**
 * Sorts classes before aliases and factories, because the enhancers are in the module that provides
 * the class.
 */
function classesFirst(wrappers: readonly InstanceWrapper[]): readonly InstanceWrapper[] {
  return [
    ...wrappers.filter(({ isNotMetatype }) => !isNotMetatype),
    ...wrappers.filter(({ isNotMetatype }) => isNotMetatype),
  ];
}

function hostOf(wrapper: InstanceWrapper): HandlerHost | undefined {
  return wrapper.isDependencyTreeStatic() && !wrapper.isTransient
    ? staticHost(wrapper)
    : scopedHost(wrapper);
}

function staticHost(wrapper: InstanceWrapper): StaticHost | undefined {
  const instance: unknown = wrapper.instance;
  if (typeof instance !== 'object' || instance === null) return undefined;
  const identity = identityOf(wrapper, Object.getPrototypeOf(instance));
  return identity && { ...identity, kind: 'static', instance };
}

/** Describes scoped classes only. The result of a scoped factory is unknown until it runs. */
function scopedHost(wrapper: InstanceWrapper): ScopedHost | undefined {
  if (wrapper.isNotMetatype) return undefined;
  const identity = identityOf(wrapper, (wrapper.metatype as Type<unknown>).prototype);
  return (
    identity && {
      ...identity,
      kind: 'scoped',
      resolve: (request) => resolveScoped(wrapper, request),
    }
  );
}

function identityOf(wrapper: InstanceWrapper, prototype: unknown): HostIdentity | undefined {
  const { id, host: module } = wrapper;
  if (typeof prototype !== 'object' || prototype === null || prototype === Object.prototype) {
    return undefined;
  }
  const type: unknown = prototype.constructor;
  if (typeof type !== 'function' || module === undefined) return undefined;
  return {
    type: type as Type<unknown>,
    prototype: prototype as HostIdentity['prototype'],
    module: module.name,
    moduleKey: module.token,
    id,
  };
}

/** Resolves an instance as Nest's router does for a request. REQUEST is the record with its context. */
async function resolveScoped(wrapper: InstanceWrapper, request: object): Promise<ScopedInstance> {
  const contextId = ContextIdFactory.getByRequest(request);
  const moduleRef = wrapper.host?.getProviderByKey<ModuleRef>(ModuleRef).instance;
  if (!moduleRef) throw new Error(`The module of ${String(wrapper.name)} has no ModuleRef.`);
  const shared = wrapper.isDependencyTreeDurable() ? contextId.payload : request;
  moduleRef.registerRequestByContextId(shared, contextId);
  const instance = await moduleRef.resolve<object>(wrapper.token as Type<object>, contextId, {
    strict: true,
  });
  return { instance, contextId };
}
