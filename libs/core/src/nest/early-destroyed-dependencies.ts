import { dependenciesOf, type Component, type ModulePlace } from './injection-graph.js';

export interface DestroyPlan {
  /** The modules in the order of Nest's container. */
  readonly modules: readonly ModulePlace[];
  readonly components: readonly Component[];
  /** Ids of the components that hold handlers, including those that are created per record. */
  readonly hosts: ReadonlySet<string>;
  /**
   * Instances whose destroy hook waits for the drain. The hook that Nest calls first starts the
   * drain.
   */
  readonly drains: ReadonlySet<object>;
}

/** A dependency of a handler that Nest destroys before the drain has ended. */
export interface EarlyDestroyedDependency {
  readonly dependency: Component;
  readonly user: Component;
}

/**
 * Position of a destroy hook in Nest's order. Stages follow each other; hooks of one stage run at
 * the same time.
 */
type Stage = readonly [module: number, step: number];

/**
 * Finds dependencies that Nest would destroy while handlers still use them.
 *
 * Nest 11 calls all destroy hooks of a module at once: a connection pool in the module of its
 * handlers closes while the handlers run, unless its hook waits. Nest 12 destroys level by level,
 * so that only rarer cases remain. The version of Nest is not checked: the `hierarchyLevel` of the
 * components shows the order.
 */
export function findEarlyDestroyedDependencies(
  plan: DestroyPlan,
): readonly EarlyDestroyedDependency[] {
  const order = destroyOrder(plan.modules);
  const stage = (component: Component): Stage => stageOf(component, order);
  const destroyed = plan.components.filter(isDestroyed);
  const drainStages = destroyed.filter(isOneOf(plan.drains)).map(stage);
  const drainStart = drainStages.sort(compareStages)[0];
  if (drainStart === undefined) return [];
  const early = destroyed.filter(
    (component) =>
      !isOneOf(plan.drains)(component) && compareStages(stage(component), drainStart) <= 0,
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

/**
 * Returns what to do. A separate module is suggested only if the handler is a singleton, because
 * only singletons have a destroy hook, and Nest calls it before those of imported modules.
 */
function remedy({ name, host }: Component, user: Component): string {
  const isDestroyedWithUser = host === user.host && user.isDependencyTreeStatic();
  return isDestroyedWithUser
    ? `Provide ${String(name)} in a module of its own that ${host?.name} imports, or close it in onApplicationShutdown.`
    : 'Close it in onApplicationShutdown, which comes after the drain.';
}

/**
 * Sorts modules like NestApplicationContext: the module nearest to the root comes first. Of modules
 * with the same distance, the last one comes first.
 */
function destroyOrder(modules: readonly ModulePlace[]): ReadonlyMap<ModulePlace, number> {
  const order = [...modules].sort((a, b) => b.distance - a.distance).reverse();
  return new Map(order.map((module, index) => [module, index]));
}

/** Places transient instances after the other components of their module, as Nest 11 destroys them. */
function stageOf(component: Component, order: ReadonlyMap<ModulePlace, number>): Stage {
  const { host, hierarchyLevel, isTransient } = component;
  const place = (host && order.get(host)) ?? Infinity;
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
