import { explore, problemsOf } from '../discovery.spec-support.js';
import { EventHandler } from '../decorators/event-handler.js';

class CatchAll {
  @EventHandler('orders')
  onAny(): void {}
}

describe('HandlerExplorer', () => {
  it('refuses two handlers of one type, with and without the suffix', async () => {
    class Rivals {
      @EventHandler('orders', { type: 'OrderPlaced' })
      one(): void {}
      @EventHandler('orders', { type: 'OrderPlacedEvent' })
      two(): void {}
    }
    expect(await problemsOf({ providers: [Rivals] })).toEqual([
      expect.stringMatching(
        /'orders' has 2 handlers for type 'OrderPlaced'.*Rivals\.one.*Rivals\.two/,
      ),
    ]);
  });

  it('accepts types that differ by case, and equal types of different bindings', async () => {
    class Neighbours {
      @EventHandler('orders', { type: 'placed' })
      @EventHandler('orders', { type: 'Placed' })
      @EventHandler('returns', { type: 'Placed' })
      handle(): void {}
    }
    expect((await explore({ providers: [Neighbours] })).handlers).toHaveLength(3);
  });

  it('refuses two handlers of all types', async () => {
    class Other {
      @EventHandler('orders')
      any(): void {}
    }
    expect(await problemsOf({ providers: [CatchAll, Other] })).toEqual([
      expect.stringContaining('2 handlers for all other types'),
    ]);
  });

  it('refuses record and batch handlers on one binding', async () => {
    class Mixed {
      @EventHandler('orders', { type: 'A' })
      one(): void {}
      @EventHandler.Batch('orders', { type: 'B' })
      many(): void {}
    }
    expect(await problemsOf({ providers: [Mixed] })).toEqual([
      expect.stringContaining('handlers of records and of batches'),
    ]);
  });

  it.each([
    ['a cluster', EventHandler('orders', { cluster: 'default' }), '2 handlers for all other types'],
    ['a cluster and batches', EventHandler.Batch('orders', { cluster: 'default' }), 'of batches'],
  ])(
    'refuses conflicting handlers even if only one of them names the cluster: %s',
    async (_what, withCluster, message) => {
      class Named {
        @EventHandler('orders')
        any(): void {}
        @withCluster
        other(): void {}
      }
      expect(await problemsOf({ providers: [Named] })).toContainEqual(
        expect.stringContaining(message),
      );
    },
  );

  it('accepts handlers of one binding name on different clusters', async () => {
    class Neighbours {
      @EventHandler('orders', { cluster: 'eu' })
      @EventHandler('orders', { cluster: 'us' })
      handle(): void {}
    }
    expect((await explore({ providers: [Neighbours] })).handlers).toHaveLength(2);
  });

  it('refuses decorators on members that are no instance methods', async () => {
    const decorate = EventHandler('orders') as (...place: unknown[]) => void;
    class Misplaced {
      static build(): void {}
      get current(): number {
        return 1;
      }
    }
    decorate(Misplaced, 'build', Object.getOwnPropertyDescriptor(Misplaced, 'build'));
    const { prototype } = Misplaced;
    decorate(prototype, 'current', Object.getOwnPropertyDescriptor(prototype, 'current'));
    decorate(prototype, 'field', undefined);
    class Child extends Misplaced {}
    expect(await problemsOf({ providers: [Child] })).toEqual([
      expect.stringContaining("@EventHandler('orders') on Misplaced.field: it is a property"),
      expect.stringContaining('Misplaced.current: it is an accessor'),
      expect.stringContaining('Misplaced.build: it is a static member'),
    ]);
  });

  it('refuses options that the compiler would not have accepted', async () => {
    class Wrong {
      @EventHandler('', { type: '', filter: 'x' as never, payload: 7 as never })
      handle(): void {}
    }
    const origin = 'Wrong.handle in RootTestModule: ';
    expect(await problemsOf({ providers: [Wrong] })).toEqual([
      `${origin}it names no binding.`,
      `${origin}its type is not a name.`,
      `${origin}its filter is not a function.`,
      `${origin}its payload is neither a class nor a Standard Schema.`,
    ]);
  });

  it('lists several problems in one message', async () => {
    class Rival {
      @EventHandler('orders')
      any(): void {}
      @EventHandler('', {})
      nameless(): void {}
    }
    await expect(explore({ providers: [CatchAll, Rival] })).rejects.toMatchObject({
      code: 'HANDLER_DISCOVERY',
      problems: { length: 2 },
      message: expect.stringContaining('Rival.nameless') as unknown,
    });
  });
});
