/** A module as Nest's container knows it. */
export interface ModulePlace {
  readonly name: string;
  /** From the root; a global one is the farthest. */
  readonly distance: number;
}

/** A provider, controller or enhancer as Nest's container knows it: what is looked at of its InstanceWrapper. */
export interface Component {
  readonly id: string;
  readonly name: unknown;
  readonly token: unknown;
  readonly host?: ModulePlace;
  readonly instance: unknown;
  /** Its class, or its factory. */
  readonly metatype: unknown;
  /** What a factory is given. */
  readonly inject?: readonly unknown[] | null;
  readonly isAlias: boolean;
  readonly isTransient: boolean;
  /** Since Nest 12: above everything that is injected into it. */
  readonly hierarchyLevel?: number;
  isDependencyTreeStatic(): boolean;
  getCtorMetadata(): readonly Component[] | undefined;
  getPropertiesMetadata(): readonly { readonly wrapper: Component }[] | undefined;
  getEnhancersMetadata(): readonly Component[] | undefined;
}

/** Where @Inject() and TypeScript leave what a class asks for; dependencies.spec.ts compares them with the real decorators. */
const TYPES_KEY = 'design:paramtypes';
const PARAMETERS_KEY = 'self:paramtypes';
const PROPERTIES_KEY = 'self:properties_metadata';

interface Parameter {
  readonly param: unknown;
}

interface Property {
  readonly type: unknown;
}

/** Everything that is injected, however far down. What is taken from a ModuleRef cannot be seen. */
export function dependenciesOf(
  component: Component,
  components: readonly Component[],
  seen = new Set<Component>(),
): ReadonlySet<Component> {
  for (const dependency of directDependencies(component, components)) {
    if (seen.has(dependency)) continue;
    seen.add(dependency);
    dependenciesOf(dependency, components, seen);
  }
  return seen;
}

function directDependencies(
  component: Component,
  components: readonly Component[],
): readonly Component[] {
  const resolved = [
    ...(component.getCtorMetadata() ?? []),
    ...(component.getPropertiesMetadata() ?? []).map(({ wrapper }) => wrapper),
    ...(component.getEnhancersMetadata() ?? []),
  ];
  const declared = component.isDependencyTreeStatic()
    ? []
    : declaredDependencies(component, components);
  // Nest leaves holes where an optional dependency is missing.
  return [...resolved, ...declared].filter(Boolean);
}

/** Some versions of Nest look for what a request-scoped component needs only when they first make it. */
function declaredDependencies(
  component: Component,
  components: readonly Component[],
): readonly Component[] {
  return declaredTokens(component).flatMap((token) => {
    const all = components.filter((candidate) => candidate.token === token);
    const near = all.filter(({ host }) => host === component.host);
    return near.length > 0 ? near : all;
  });
}

function declaredTokens({ metatype, inject }: Component): readonly unknown[] {
  if (inject) return inject.map(tokenOf);
  if (typeof metatype !== 'function') return [];
  const types: readonly unknown[] = Reflect.getMetadata(TYPES_KEY, metatype) ?? [];
  const parameters: readonly Parameter[] = Reflect.getMetadata(PARAMETERS_KEY, metatype) ?? [];
  const properties: readonly Property[] = Reflect.getMetadata(PROPERTIES_KEY, metatype) ?? [];
  return [
    ...types,
    ...parameters.map(({ param }) => param),
    ...properties.map(({ type }) => type),
  ].map(tokenOf);
}

/** Out of `forwardRef(() => token)` and `{ token, optional }`. */
function tokenOf(wanted: unknown): unknown {
  if (typeof wanted !== 'object' || wanted === null) return wanted;
  const { forwardRef, token } = wanted as { forwardRef?: () => unknown; token?: unknown };
  return forwardRef ? forwardRef() : token;
}
