import type { Component, ModulePlace } from './injection-graph.js';
import {
  describeEarlyDestroyedDependency,
  findEarlyDestroyedDependencies,
} from './early-destroyed-dependencies.js';

const root: ModulePlace = { name: 'Root', distance: 0 };
const shop: ModulePlace = { name: 'ShopModule', distance: 1 };
const storage: ModulePlace = { name: 'StorageModule', distance: 2 };
const bus: ModulePlace = { name: 'EventBusModule', distance: Number.MAX_VALUE };
const modules = [root, bus, shop, storage];

interface ComponentOptions extends Partial<Component> {
  readonly injects?: readonly Component[];
  readonly properties?: readonly Component[];
  readonly guards?: readonly Component[];
  readonly isStatic?: boolean;
}

const closes = (): object => ({ onModuleDestroy: () => undefined });

function component(name: string, host: ModulePlace, options: ComponentOptions = {}): Component {
  const { injects, properties, guards, isStatic = true, ...rest } = options;
  return {
    id: name,
    name,
    token: name,
    metatype: undefined,
    host,
    instance: closes(),
    isAlias: false,
    isTransient: false,
    isDependencyTreeStatic: () => isStatic,
    getCtorMetadata: () => injects,
    getPropertiesMetadata: () => properties?.map((wrapper) => ({ wrapper })),
    getEnhancersMetadata: () => guards,
    ...rest,
  };
}

interface Case {
  readonly hosts: readonly Component[];
  readonly others?: readonly Component[];
  readonly frozen?: readonly Component[];
}

function find({ hosts, others = [], frozen = [] }: Case): readonly string[] {
  const bootstrap = component('EventBusBootstrap', bus);
  const waiting = [...hosts.filter((host) => !frozen.includes(host)), bootstrap];
  return findEarlyDestroyedDependencies({
    modules,
    components: [bootstrap, ...hosts, ...others],
    hosts: new Set(hosts.map(({ id }) => id)),
    drains: new Set(waiting.map(({ instance }) => instance as object)),
  }).map(({ dependency, user }) => `${String(dependency.name)} of ${String(user.name)}`);
}

describe('findEarlyDestroyedDependencies()', () => {
  it('reports a pool in the module of its handlers, without hierarchy levels', () => {
    const pool = component('Pool', shop);
    const host = component('Handlers', shop, { injects: [pool] });
    expect(find({ hosts: [host], others: [pool] })).toEqual(['Pool of Handlers']);
  });

  it('reports transitive dependencies', () => {
    const pool = component('Pool', shop);
    const repository = component('Repository', storage, { instance: {}, injects: [pool] });
    const host = component('Handlers', shop, { injects: [repository] });
    expect(find({ hosts: [host], others: [pool, repository] })).toEqual(['Pool of Handlers']);
  });

  it.each(['properties', 'guards'] as const)('reports dependencies through its %s', (via) => {
    const pool = component('Pool', shop);
    const host = component('Handlers', shop, { [via]: [pool] });
    expect(find({ hosts: [host], others: [pool] })).toEqual(['Pool of Handlers']);
  });

  it('reports dependencies under another token, in a module that is destroyed earlier', () => {
    const pool = component('Pool', storage);
    const again = component('POOL', root, { instance: pool.instance });
    const host = component('Handlers', shop, { injects: [pool] });
    expect(find({ hosts: [host], others: [pool, again] })).toEqual(['POOL of Handlers']);
  });

  it('reports the dependencies of a frozen host if nothing else starts the drain before the bus', () => {
    const pool = component('Pool', storage);
    const host = component('Handlers', shop, { injects: [pool] });
    expect(find({ hosts: [host], others: [pool], frozen: [host] })).toEqual(['Pool of Handlers']);
  });

  it('reports the dependencies of request-scoped handlers, which have no destroy hook', () => {
    const pool = component('Pool', storage);
    const host = component('Handlers', shop, { instance: {}, isStatic: false, injects: [pool] });
    expect(find({ hosts: [host], others: [pool] })).toEqual(['Pool of Handlers']);
  });

  it('reports dependencies on the level of their host or above it', () => {
    const pool = component('Pool', shop, { hierarchyLevel: 2 });
    const host = component('Handlers', shop, { hierarchyLevel: 1, guards: [pool] });
    expect(find({ hosts: [host], others: [pool] })).toEqual(['Pool of Handlers']);
  });
});

describe('findEarlyDestroyedDependencies() with safe dependencies', () => {
  it.each<[string, ComponentOptions, ModulePlace]>([
    ['in a module that is destroyed later', {}, storage],
    ['on a lower level of the same module', { hierarchyLevel: 1 }, shop],
    ['without a hook', { instance: {} }, shop],
    ['without an instance', { instance: null }, shop],
    ['that is request-scoped', { isStatic: false }, shop],
    ['that is an alias, whose instance is closed once', { isAlias: true }, shop],
    ['that is transient: Nest 11 closes these last', { isTransient: true }, shop],
  ])('does not report a pool %s', (_name, options, place) => {
    const pool = component('Pool', place, options);
    const host = component('Handlers', shop, {
      hierarchyLevel: pool.hierarchyLevel && 2,
      injects: [pool],
    });
    expect(find({ hosts: [host], others: [pool] })).toEqual([]);
  });

  it('does not report a pool that no handler uses', () => {
    const host = component('Handlers', shop);
    expect(find({ hosts: [host], others: [component('Pool', root)] })).toEqual([]);
  });

  it('does not report a pool in the module of its handlers if handlers nearer to the root drain first', () => {
    const pool = component('Pool', shop);
    const host = component('Handlers', shop, { injects: [pool] });
    expect(find({ hosts: [host, component('Others', root)], others: [pool] })).toEqual([]);
  });

  it('does not report handlers that depend on handlers, because both wait for the drain', () => {
    const used = component('Used', shop);
    const user = component('User', shop, { injects: [used] });
    expect(find({ hosts: [used, user] })).toEqual([]);
  });

  it('does not report providers that depend on each other', () => {
    const injects: Component[] = [];
    const host = component('Handlers', shop, { injects });
    injects.push(component('Friend', shop, { instance: {}, injects: [host] }));
    expect(find({ hosts: [host], others: injects })).toEqual([]);
  });
});

describe('describeEarlyDestroyedDependency()', () => {
  const pool = component('Pool', shop);

  it('suggests a module of its own if pool and user are in one module', () => {
    const user = component('Handlers', shop);
    expect(describeEarlyDestroyedDependency({ dependency: pool, user })).toBe(
      'Pool in ShopModule may be closed at shutdown while a handler of Handlers in ShopModule still uses it: this version of Nest calls its onModuleDestroy before the event bus has drained. Provide Pool in a module of its own that ShopModule imports, or close it in onApplicationShutdown.',
    );
  });

  it('suggests onApplicationShutdown if pool and user are in two modules', () => {
    const user = component('Handlers', storage);
    expect(describeEarlyDestroyedDependency({ dependency: pool, user })).toMatch(
      /Close it in onApplicationShutdown, which comes after the drain\.$/,
    );
  });
});
