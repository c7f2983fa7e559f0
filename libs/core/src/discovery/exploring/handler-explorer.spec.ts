import { Controller, Injectable, Scope } from '@nestjs/common';
import { deliver, explore, moduleNamed, problemsOf, recordOf } from '../discovery.spec-support.js';
import { DltAlert, DltHandler } from '../decorators/dlt-decorators.js';
import { EventHandler } from '../decorators/event-handler.js';
import { HandlesEvents } from '../decorators/handles-events.js';
import type { EventRecord } from '../../model/records/event-record.js';
import type { DltRecord } from '../../model/records/dlt-record.js';

let handled: unknown[];

beforeEach(() => {
  handled = [];
});

@Injectable()
class OrderHandlers {
  readonly name: string = 'orders';

  @EventHandler('orders', { type: 'OrderPlaced', concurrency: 3, cluster: 'east' })
  onPlaced({ value }: EventRecord): void {
    handled.push([this.name, value]);
  }
}

class CatchAll {
  @EventHandler('orders')
  onAny({ value }: EventRecord): void {
    handled.push(value);
  }
}

describe('HandlerExplorer', () => {
  it('finds handlers on providers, with the options of the decorator', async () => {
    const { handlers } = await explore({ providers: [OrderHandlers] });
    expect(handlers).toEqual([
      expect.objectContaining({
        binding: 'orders',
        type: 'OrderPlaced',
        form: 'record',
        cluster: 'east',
        properties: { concurrency: 3 },
        origin: 'OrderHandlers.onPlaced in RootTestModule',
      }),
    ]);
  });

  it('calls a found handler on its instance', async () => {
    const { handlers } = await explore({ providers: [OrderHandlers] });
    await deliver(handlers[0]!, recordOf(7));
    expect(handled).toEqual([['orders', 7]]);
  });

  it('finds handlers on controllers', async () => {
    @Controller()
    class Orders extends CatchAll {}
    const { handlers, hosts, app } = await explore({ controllers: [Orders] });
    expect(handlers).toHaveLength(1);
    expect(hosts).toEqual([{ instance: app.get(Orders), module: 'RootTestModule' }]);
  });

  it('finds inherited handlers', async () => {
    class Child extends OrderHandlers {
      override readonly name = 'child';
    }
    const { handlers } = await explore({ providers: [Child] });
    await deliver(handlers[0]!, recordOf(1));
    expect(handled).toEqual([['child', 1]]);
  });

  it('ignores an undecorated method that overrides a handler, as Nest does', async () => {
    class Child extends OrderHandlers {
      override onPlaced(): void {}
    }
    expect((await explore({ providers: [Child] })).handlers).toEqual([]);
  });

  it('finds several decorators on one method, in their order in the source', async () => {
    class Both {
      @EventHandler('orders', { type: 'A' })
      @EventHandler('returns', { type: 'B' })
      handle(): void {}
    }
    const { handlers, hosts } = await explore({ providers: [Both] });
    expect(handlers.map(({ binding, type }) => [binding, type])).toEqual([
      ['orders', 'A'],
      ['returns', 'B'],
    ]);
    expect(hosts).toHaveLength(1);
  });

  it('finds batch handlers', async () => {
    class Slices {
      @EventHandler.Batch('orders')
      handle(records: readonly EventRecord[], contexts: readonly unknown[]): void {
        handled.push([records.length, contexts.length]);
      }
    }
    const { handlers } = await explore({ providers: [Slices] });
    expect(handlers[0]!.form).toBe('slice');
    await handlers[0]!.invoke([recordOf(1), recordOf(2)], []);
    expect(handled).toEqual([[2, 0]]);
  });

  it('does not call getters of providers', async () => {
    class Touchy extends CatchAll {
      get explodes(): never {
        throw new Error('touched');
      }
    }
    expect((await explore({ providers: [Touchy] })).handlers).toHaveLength(1);
  });

  it('skips plain values, null and functions', async () => {
    const values = [null, undefined, 'text', 7, () => 1, Object.create(null), { handle: () => 1 }];
    const providers = values.map((useValue, index) => ({ provide: `value-${index}`, useValue }));
    expect((await explore({ providers })).handlers).toEqual([]);
  });
});

describe('HandlerExplorer with several providers of one class', () => {
  it.each([
    ['an alias', [CatchAll, { provide: 'ALIAS', useExisting: CatchAll }]],
    [
      'a factory that returns the same instance',
      [CatchAll, { provide: 'MADE', useFactory: (it: CatchAll) => it, inject: [CatchAll] }],
    ],
  ])('counts an instance with several tokens once: %s', async (_name, providers) => {
    const { handlers, hosts } = await explore({ providers });
    expect(handlers).toHaveLength(1);
    expect(hosts).toHaveLength(1);
  });

  it('counts an instance in several modules once', async () => {
    const instance = new CatchAll();
    const provider = { provide: CatchAll, useValue: instance };
    const { handlers, hosts } = await explore({
      imports: [
        moduleNamed('One', { providers: [provider] }),
        moduleNamed('Two', { providers: [provider] }),
      ],
    });
    expect(handlers).toHaveLength(1);
    expect(hosts).toEqual([{ instance, module: 'One' }]);
  });

  it('assigns an instance to the module of its class, not to that of an alias', async () => {
    const owner = moduleNamed('Owner', { providers: [CatchAll], exports: [CatchAll] });
    const alias = { provide: 'ALIAS', useExisting: CatchAll };
    const { hosts } = await explore({ imports: [owner], providers: [alias] });
    expect(hosts.map(({ module }) => module)).toEqual(['Owner']);
  });

  it('refuses two instances of one class, and names both modules', async () => {
    const problems = await problemsOf({
      imports: [
        moduleNamed('One', { providers: [CatchAll] }),
        moduleNamed('Two', { providers: [CatchAll] }),
      ],
    });
    expect(problems).toEqual([
      'CatchAll has 2 instances, in One and in Two: each would handle every record. Provide it in one module and export it from there.',
    ]);
  });

  it('refuses two request-scoped providers of one class', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Scoped extends CatchAll {}
    const problems = await problemsOf({
      imports: [
        moduleNamed('One', { providers: [Scoped] }),
        moduleNamed('Two', { providers: [Scoped] }),
      ],
    });
    expect(problems).toEqual([expect.stringContaining('in One and in Two')]);
  });
});

describe('A class with @HandlesEvents', () => {
  @HandlesEvents('orders', { concurrency: 2 })
  class PasswordChanged {
    getEventType(): string {
      return 'PasswordChanged';
    }
    handleEvent(event: unknown, context: { binding: string }): void {
      handled.push([event, context.binding]);
    }
  }

  it('handles the type it names, with the value and the context', async () => {
    const { handlers, hosts } = await explore({ providers: [PasswordChanged] });
    expect(handlers).toEqual([
      expect.objectContaining({ type: 'PasswordChanged', properties: { concurrency: 2 } }),
    ]);
    expect(hosts).toHaveLength(1);
    await deliver(handlers[0]!, recordOf({ user: 1 }));
    expect(handled).toEqual([[{ user: 1 }, 'orders']]);
  });

  it('is refused without getEventType() or handle(), without a type, or if it is not a singleton', async () => {
    @HandlesEvents('orders')
    class Nameless extends PasswordChanged {
      override getEventType(): string {
        return '';
      }
    }
    @HandlesEvents('orders')
    class Failing extends PasswordChanged {
      override getEventType(): string {
        throw new Error('not yet');
      }
    }
    class Half {}
    HandlesEvents('orders')(Half as never);
    @Injectable({ scope: Scope.REQUEST })
    @HandlesEvents('orders')
    class Scoped extends PasswordChanged {}
    const problems = await problemsOf({ providers: [Nameless, Failing, Half, Scoped] });
    expect(problems).toEqual([
      expect.stringContaining(
        "Nameless.getEventType() must return the name of a type, but returned ''.",
      ),
      expect.stringContaining('Failing.getEventType() threw: Error: not yet'),
      expect.stringContaining('has no method getEventType and handleEvent'),
      expect.stringContaining('Scoped in RootTestModule is created per record'),
    ]);
  });
});

describe('Handlers of dead letters', () => {
  class Letters {
    @DltHandler('orders')
    onDead(record: DltRecord): void {
      handled.push(['handler', record]);
    }
    @DltAlert()
    @DltAlert('orders')
    tell(record: DltRecord): void {
      handled.push(['alert', record]);
    }
  }
  const letter = { originalTopic: 'orders' } as DltRecord;

  it('are found if methods have the decorator', async () => {
    const { dltHandlers, dltAlerts, hosts } = await explore({ providers: [Letters] });
    expect(dltHandlers.map(({ binding }) => binding)).toEqual(['orders']);
    expect(dltAlerts.map(({ binding }) => binding)).toEqual([undefined, 'orders']);
    expect(hosts).toHaveLength(1);
    dltHandlers[0]!.invoke(letter);
    dltAlerts[0]!.invoke(letter);
    expect(handled).toEqual([
      ['handler', letter],
      ['alert', letter],
    ]);
  });

  it('are found if classes have the decorator, also request-scoped classes', async () => {
    @Injectable({ scope: Scope.REQUEST })
    @DltHandler('orders')
    class Handler {
      handle(record: DltRecord): void {
        handled.push(record);
      }
    }
    const { dltHandlers } = await explore({ providers: [Handler] });
    await dltHandlers[0]!.invoke(letter);
    expect(handled).toEqual([letter]);
  });

  it('are refused without their method, or if a binding has two of them', async () => {
    class Mute {}
    (DltAlert() as (type: object) => void)(Mute);
    class Second {
      @DltHandler('orders')
      again(_record: DltRecord): void {}
    }
    expect(await problemsOf({ providers: [Letters, Mute, Second] })).toEqual([
      expect.stringContaining(
        'Mute in RootTestModule carries @DltAlert but has no method onDeadLetter',
      ),
      expect.stringContaining("Binding 'orders' has 2 handlers of dead letters"),
    ]);
  });
});
