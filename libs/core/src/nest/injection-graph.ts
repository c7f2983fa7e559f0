/** A module in Nest's container. */
export interface ModulePlace {
  readonly name: string;
  /** Distance from the root module. Global modules are the farthest. */
  readonly distance: number;
}

/**
 * A provider, controller or enhancer in Nest's container: the part of its InstanceWrapper that is
 * used here.
 */
export interface Component {
  readonly id: string;
  readonly name: unknown;
  readonly token: unknown;
  readonly host?: ModulePlace;
  readonly instance: unknown;
  /** The class or the factory of the component. */
  readonly metatype: unknown;
  /** Tokens that are injected into a factory. */
  readonly inject?: readonly unknown[] | null;
  readonly isAlias: boolean;
  readonly isTransient: boolean;
  /** Set since Nest 12. A component has a higher level than everything that is injected into it. */
  readonly hierarchyLevel?: number;
  isDependencyTreeStatic(): boolean;
  getCtorMetadata(): readonly Component[] | undefined;
  getPropertiesMetadata(): readonly { readonly wrapper: Component }[] | undefined;
  getEnhancersMetadata(): readonly Component[] | undefined;
}

/**
 * Metadata keys under which @Inject() and TypeScript store the dependencies of a class;
 * injection-graph.spec.ts compares them with the real decorators.
 */
const TYPES_KEY = 'design:paramtypes';
const PARAMETERS_KEY = 'self:paramtypes';
const PROPERTIES_KEY = 'self:properties_metadata';

interface Parameter {
  readonly param: unknown;
}

interface Property {
  readonly type: unknown;
}

/**
 * Returns everything that is injected, directly or indirectly. What is fetched through ModuleRef is
 * not known.
 */
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
  // Nest leaves an empty entry for a missing optional dependency.
  return [...resolved, ...declared].filter(Boolean);
}

/**
 * Reads the dependencies from the metadata, since some versions of Nest resolve those of a
 * request-scoped component only when they first create it.
 */
function declaredDependencies(
  component: Component,
  components: readonly Component[],
): readonly Component[] {
  return declaredTokens(component).flatMap((token) => {
    const all = components.filter((candidate) => candidate.token === token);
    const local = all.filter(({ host }) => host === component.host);
    return local.length > 0 ? local : all;
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

/** Unwraps `forwardRef(() => token)` and `{ token, optional }`. */
function tokenOf(dependency: unknown): unknown {
  if (typeof dependency !== 'object' || dependency === null) return dependency;
  const { forwardRef, token } = dependency as { forwardRef?: () => unknown; token?: unknown };
  return forwardRef ? forwardRef() : token;
}
