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

interface Wishes extends Partial<Component> {
  readonly injects?: readonly Component[];
  readonly properties?: readonly Component[];
  readonly guards?: readonly Component[];
  readonly isStatic?: boolean;
}

const closes = (): object => ({ onModuleDestroy: () => undefined });

function component(name: string, host: ModulePlace, wishes: Wishes = {}): Component {
  const { injects, properties, guards, isStatic = true, ...rest } = wishes;
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

describe('what a handler uses is found when Nest closes it before the drain has ended', () => {
  it('a pool in the module of its handlers, where Nest knows no levels', () => {
    const pool = component('Pool', shop);
    const host = component('Handlers', shop, { injects: [pool] });
    expect(find({ hosts: [host], others: [pool] })).toEqual(['Pool of Handlers']);
  });

  it('what its dependencies depend on', () => {
    const pool = component('Pool', shop);
    const repository = component('Repository', storage, { instance: {}, injects: [pool] });
    const host = component('Handlers', shop, { injects: [repository] });
    expect(find({ hosts: [host], others: [pool, repository] })).toEqual(['Pool of Handlers']);
  });

  it.each(['properties', 'guards'] as const)('what comes to it through its %s', (road) => {
    const pool = component('Pool', shop);
    const host = component('Handlers', shop, { [road]: [pool] });
    expect(find({ hosts: [host], others: [pool] })).toEqual(['Pool of Handlers']);
  });

  it('what another provider gives under another name, in a module that goes earlier', () => {
    const pool = component('Pool', storage);
    const again = component('POOL', root, { instance: pool.instance });
    const host = component('Handlers', shop, { injects: [pool] });
    expect(find({ hosts: [host], others: [pool, again] })).toEqual(['POOL of Handlers']);
  });

  it('everything of a frozen host, when nothing else begins the drain before the bus itself', () => {
    const pool = component('Pool', storage);
    const host = component('Handlers', shop, { injects: [pool] });
    expect(find({ hosts: [host], others: [pool], frozen: [host] })).toEqual(['Pool of Handlers']);
  });

  it('everything of handlers that are made for one record, and so have no hook', () => {
    const pool = component('Pool', storage);
    const host = component('Handlers', shop, { instance: {}, isStatic: false, injects: [pool] });
    expect(find({ hosts: [host], others: [pool] })).toEqual(['Pool of Handlers']);
  });

  it('on the level of its host or above it', () => {
    const pool = component('Pool', shop, { hierarchyLevel: 2 });
    const host = component('Handlers', shop, { hierarchyLevel: 1, guards: [pool] });
    expect(find({ hosts: [host], others: [pool] })).toEqual(['Pool of Handlers']);
  });
});

describe('nobody is warned of what is safe', () => {
  it.each<[string, Wishes, ModulePlace]>([
    ['in a module that goes later', {}, storage],
    ['on a lower level of the same module', { hierarchyLevel: 1 }, shop],
    ['without a hook', { instance: {} }, shop],
    ['without an instance', { instance: null }, shop],
    ['that is made for a request', { isStatic: false }, shop],
    ['that is another name of what is closed once', { isAlias: true }, shop],
    ['that is transient: Nest 11 closes these last', { isTransient: true }, shop],
  ])('a pool %s', (_name, wishes, place) => {
    const pool = component('Pool', place, wishes);
    const host = component('Handlers', shop, {
      hierarchyLevel: pool.hierarchyLevel && 2,
      injects: [pool],
    });
    expect(find({ hosts: [host], others: [pool] })).toEqual([]);
  });

  it('a pool that no handler uses', () => {
    const host = component('Handlers', shop);
    expect(find({ hosts: [host], others: [component('Pool', root)] })).toEqual([]);
  });

  it('a pool in the module of its handlers, when handlers nearer to the root drain first', () => {
    const pool = component('Pool', shop);
    const host = component('Handlers', shop, { injects: [pool] });
    expect(find({ hosts: [host, component('Others', root)], others: [pool] })).toEqual([]);
  });

  it('handlers that depend on handlers: both wait for the drain', () => {
    const used = component('Used', shop);
    const user = component('User', shop, { injects: [used] });
    expect(find({ hosts: [used, user] })).toEqual([]);
  });

  it('providers that depend on each other', () => {
    const injects: Component[] = [];
    const host = component('Handlers', shop, { injects });
    injects.push(component('Friend', shop, { instance: {}, injects: [host] }));
    expect(find({ hosts: [host], others: injects })).toEqual([]);
  });
});

describe('the warning names the pool, its user and the cure', () => {
  const pool = component('Pool', shop);

  it('in one module', () => {
    const user = component('Handlers', shop);
    expect(describeEarlyDestroyedDependency({ dependency: pool, user })).toBe(
      'Pool in ShopModule may be closed at shutdown while a handler of Handlers in ShopModule still uses it: this version of Nest calls its onModuleDestroy before the event bus has drained. Provide Pool in a module of its own that ShopModule imports, or close it in onApplicationShutdown.',
    );
  });

  it('in two modules', () => {
    const user = component('Handlers', storage);
    expect(describeEarlyDestroyedDependency({ dependency: pool, user })).toMatch(
      /Close it in onApplicationShutdown, which comes after the drain\.$/,
    );
  });
});
