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
    @Optional() @Inject('NOBODY') readonly nobody?: object,
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

/** As Nest itself knows the providers above, or as it knows them before it has made any that is request-scoped. */
async function componentsOfNest({ forgetful }: { forgetful: boolean }) {
  const testing = await Test.createTestingModule({ providers }).compile();
  const wrappers = [...testing.get(ModulesContainer).values()].flatMap((module) => [
    ...module.providers.values(),
  ]);
  return forgetful ? wrappers.map(withoutMemory) : wrappers;
}

function withoutMemory(component: Component): Component {
  if (component.isDependencyTreeStatic()) return component;
  const nothing = (): undefined => undefined;
  const forgotten = { getCtorMetadata: nothing, getPropertiesMetadata: nothing };
  return new Proxy(component, {
    get: (target, key): unknown =>
      (forgotten as { [key: PropertyKey]: unknown })[key] ?? Reflect.get(target, key),
  });
}

describe.each([{ forgetful: false }, { forgetful: true }])(
  'what Nest injects is found, %o',
  (memory) => {
    it.each([
      ['a parameter', Repository],
      ['a property', ByProperty],
      ['optionally', Optionally],
      ['a request-scoped class', Scoped],
      ['a request-scoped class, by another name', ScopedByToken],
      ['a request-scoped class, later', ScopedLater],
      ['a request-scoped factory', 'SCOPED_FACTORY'],
    ])('%s', async (_name, token) => {
      const components = await componentsOfNest(memory);
      const component = components.find((candidate) => candidate.token === token)!;
      const names = [...dependenciesOf(component, components)].map(({ name }) => name);
      expect(names).toContain('Pool');
      expect(names).not.toContain(component.name);
    });

    it('nothing where nothing is asked for', async () => {
      const components = await componentsOfNest(memory);
      const pool = components.find(({ token }) => token === Pool)!;
      expect([...dependenciesOf(pool, components)]).toEqual([]);
    });
  },
);
