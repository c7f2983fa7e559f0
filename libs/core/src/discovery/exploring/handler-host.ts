import type { Type } from '@nestjs/common';
import { ContextIdFactory, ModuleRef, type ContextId, type DiscoveryService } from '@nestjs/core';

type InstanceWrapper = ReturnType<DiscoveryService['getProviders']>[number];

interface KnownHost {
  /** The class that was instantiated. */
  readonly type: Type<unknown>;
  readonly prototype: Readonly<{ [member: string]: unknown }>;
  readonly module: string;
  /** Under which Nest finds the enhancers of the host. */
  readonly moduleKey: string;
  readonly id: string;
}

/** One instance for the whole life of the application. */
export interface StaticHost extends KnownHost {
  readonly kind: 'static';
  readonly instance: object;
}

/** A request-scoped or transient provider: each call makes an instance, none exists before. */
export interface ScopedHost extends KnownHost {
  readonly kind: 'scoped';
  resolve(request: object): Promise<ScopedInstance>;
}

export interface ScopedInstance {
  readonly instance: object;
  readonly contextId: ContextId;
}

export type HandlerHost = StaticHost | ScopedHost;

/** The providers and controllers of an application, each instance once however many tokens lead to it. */
export function findHosts(wrappers: readonly InstanceWrapper[]): readonly HandlerHost[] {
  const hosts = new Map<object, HandlerHost>();
  for (const wrapper of classesFirst(wrappers)) {
    const host = hostOf(wrapper);
    const identity = host?.kind === 'static' ? host.instance : wrapper;
    if (host && !hosts.has(identity)) hosts.set(identity, host);
  }
  return [...hosts.values()];
}

/** An alias or a factory may live elsewhere; the enhancers are in the module that has the class. */
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
  const known = knownHost(wrapper, Object.getPrototypeOf(instance));
  return known && { ...known, kind: 'static', instance };
}

/** What a scoped factory makes is unknown until it runs: only classes can be looked at. */
function scopedHost(wrapper: InstanceWrapper): ScopedHost | undefined {
  if (wrapper.isNotMetatype) return undefined;
  const known = knownHost(wrapper, (wrapper.metatype as Type<unknown>).prototype);
  return (
    known && { ...known, kind: 'scoped', resolve: (request) => resolveScoped(wrapper, request) }
  );
}

function knownHost(wrapper: InstanceWrapper, prototype: unknown): KnownHost | undefined {
  const { id, host: module } = wrapper;
  if (typeof prototype !== 'object' || prototype === null || prototype === Object.prototype) {
    return undefined;
  }
  const type: unknown = prototype.constructor;
  if (typeof type !== 'function' || module === undefined) return undefined;
  return {
    type: type as Type<unknown>,
    prototype: prototype as KnownHost['prototype'],
    module: module.name,
    moduleKey: module.token,
    id,
  };
}

/** As Nest's router does for a request. What handlers inject as REQUEST is the record with its context. */
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
