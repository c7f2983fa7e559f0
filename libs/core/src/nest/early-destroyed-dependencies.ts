import { dependenciesOf, type Component, type ModulePlace } from './injection-graph.js';

export interface DestroyPlan {
  /** In the order in which Nest knows them. */
  readonly modules: readonly ModulePlace[];
  readonly components: readonly Component[];
  /** The components that hold handlers, those that are made for one record included. */
  readonly hosts: ReadonlySet<string>;
  /** The instances whose destroy hook waits for the drain: the first of them begins it. */
  readonly drains: ReadonlySet<object>;
}

/** What a handler uses, and Nest destroys before the drain has ended. */
export interface EarlyDestroyedDependency {
  readonly dependency: Component;
  readonly user: Component;
}

/** When Nest calls a destroy hook: stages come one after the other, what shares one at the same time. */
type Stage = readonly [module: number, step: number];

/**
 * Nest 11 calls the hooks of a module all at once: unless it is made to wait, a pool in the module of its handlers closes
 * while they run. Nest 12 goes level by level, and leaves only rarer cases. Neither is asked for
 * its version: what it knows of its components says in which order they will go.
 */
export function findEarlyDestroyedDependencies(
  plan: DestroyPlan,
): readonly EarlyDestroyedDependency[] {
  const places = destroyOrder(plan.modules);
  const stage = (component: Component): Stage => stageOf(component, places);
  const destroyed = plan.components.filter(isDestroyed);
  const drainStages = destroyed.filter(isOneOf(plan.drains)).map(stage);
  const beginning = drainStages.sort(compareStages)[0];
  if (beginning === undefined) return [];
  const early = destroyed.filter(
    (component) =>
      !isOneOf(plan.drains)(component) && compareStages(stage(component), beginning) <= 0,
  );
  const users = plan.components.filter(({ id }) => plan.hosts.has(id));
  return users.flatMap((user) => {
    const used = [...dependenciesOf(user, plan.components)].map(({ instance }) => instance);
    return early
      .filter(({ instance }) => used.includes(instance))
      .map((dependency) => ({ dependency, user }));
  });
}

export function describeEarlyDestroyedDependency({
  dependency,
  user,
}: EarlyDestroyedDependency): string {
  const [pool, handlers] = [dependency, user].map(
    ({ name, host }) => `${String(name)} in ${host?.name}`,
  );
  return `${pool} may be closed at shutdown while a handler of ${handlers} still uses it: this version of Nest calls its onModuleDestroy before the event bus has drained. ${remedy(dependency, user)}`;
}

/** Only what lives as long as the application has a hook, which comes before those of other modules. */
function remedy({ name, host }: Component, user: Component): string {
  const isAsEarlyAsItsUser = host === user.host && user.isDependencyTreeStatic();
  return isAsEarlyAsItsUser
    ? `Provide ${String(name)} in a module of its own that ${host?.name} imports, or close it in onApplicationShutdown.`
    : 'Close it in onApplicationShutdown, which comes after the drain.';
}

/** As NestApplicationContext sorts them: the nearest to the root first, among equals the last. */
function destroyOrder(modules: readonly ModulePlace[]): ReadonlyMap<ModulePlace, number> {
  const order = [...modules].sort((a, b) => b.distance - a.distance).reverse();
  return new Map(order.map((module, index) => [module, index]));
}

/** Nest 11 destroys transient instances when those of the rest of the module are gone. */
function stageOf(component: Component, places: ReadonlyMap<ModulePlace, number>): Stage {
  const { host, hierarchyLevel, isTransient } = component;
  const place = (host && places.get(host)) ?? Infinity;
  return [place, hierarchyLevel === undefined ? Number(isTransient) : -hierarchyLevel];
}

function compareStages([module, step]: Stage, [otherModule, otherStep]: Stage): number {
  return module === otherModule ? step - otherStep : module < otherModule ? -1 : 1;
}

function isDestroyed(component: Component): boolean {
  const { instance, isAlias } = component;
  if (isAlias || !isObject(instance) || !component.isDependencyTreeStatic()) return false;
  return typeof (instance as { onModuleDestroy?: unknown }).onModuleDestroy === 'function';
}

function isOneOf(instances: ReadonlySet<object>): (component: Component) => boolean {
  return ({ instance }) => isObject(instance) && instances.has(instance);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
