import { forwardRef, Inject, Injectable, Optional, Scope } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { dependenciesOf, type Component } from './injection-graph.js';

@Injectable()
class Pool {}

@Injectable()
class Repository {
  constructor(readonly pool: Pool) {}
}

@Injectable()
class ByProperty {
  @Inject(Pool) readonly pool!: Pool;
}

@Injectable()
class Optionally {
  constructor(
    @Optional() readonly pool?: Pool,
    @Optional() @Inject('NOBODY') readonly missing?: object,
  ) {}
}

@Injectable({ scope: Scope.REQUEST })
class Scoped {
  constructor(readonly repository: Repository) {}
}

@Injectable({ scope: Scope.REQUEST })
class ScopedByToken {
  constructor(@Inject('POOL') readonly pool: Pool) {}
}

@Injectable({ scope: Scope.REQUEST })
class ScopedLater {
  @Inject(forwardRef(() => Pool)) readonly pool!: Pool;
}

const scopedFactory = {
  provide: 'SCOPED_FACTORY',
  scope: Scope.REQUEST,
  inject: [{ token: Repository, optional: true }],
  useFactory: (repository: Repository) => ({ repository }),
};

const providers = [
  Pool,
  { provide: 'POOL', useExisting: Pool },
  Repository,
  ByProperty,
  Optionally,
  Scoped,
  ScopedByToken,
  ScopedLater,
  scopedFactory,
];

/**
 * Returns the components of the providers above from Nest's container; `isUnresolved` hides what
 * Nest only knows after creating request-scoped ones.
 */
async function componentsOfNest({ isUnresolved }: { isUnresolved: boolean }) {
  const testing = await Test.createTestingModule({ providers }).compile();
  const wrappers = [...testing.get(ModulesContainer).values()].flatMap((module) => [
    ...module.providers.values(),
  ]);
  return isUnresolved ? wrappers.map(asUnresolved) : wrappers;
}

function asUnresolved(component: Component): Component {
  if (component.isDependencyTreeStatic()) return component;
  const nothing = (): undefined => undefined;
  const unresolved = { getCtorMetadata: nothing, getPropertiesMetadata: nothing };
  return new Proxy(component, {
    get: (target, key): unknown =>
      (unresolved as { [key: PropertyKey]: unknown })[key] ?? Reflect.get(target, key),
  });
}

describe.each([{ isUnresolved: false }, { isUnresolved: true }])(
  'dependenciesOf() with %o',
  (options) => {
    it.each([
      ['a parameter', Repository],
      ['a property', ByProperty],
      ['an optional dependency', Optionally],
      ['a request-scoped class', Scoped],
      ['a request-scoped class under another token', ScopedByToken],
      ['a request-scoped class by forwardRef', ScopedLater],
      ['a request-scoped factory', 'SCOPED_FACTORY'],
    ])('finds an injected provider: %s', async (_name, token) => {
      const components = await componentsOfNest(options);
      const component = components.find((candidate) => candidate.token === token)!;
      const names = [...dependenciesOf(component, components)].map(({ name }) => name);
      expect(names).toContain('Pool');
      expect(names).not.toContain(component.name);
    });

    it('finds no dependency of a class that injects nothing', async () => {
      const components = await componentsOfNest(options);
      const pool = components.find(({ token }) => token === Pool)!;
      expect([...dependenciesOf(pool, components)]).toEqual([]);
    });
  },
);
