import { Injectable, Scope, type CanActivate } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { HandlerDiscoveryException } from '../../src/errors/handler-errors.js';
import { EventPublisher } from '../../src/publisher/event-publisher.js';
import { errorOf, type TestBus } from '../support/test-bus.spec-support.js';
import { createTestBus, orders, Orders, payments } from '../support/idle-orders.spec-support.js';

let testBus: TestBus;

beforeEach(async () => {
  testBus = await createTestBus();
});

afterEach(() => testBus.end());

describe('Handlers and bindings that do not match', () => {
  const problemsOf = async (providers: object[], bindings: object): Promise<readonly string[]> => {
    const imports = [testBus.module({ bindings: bindings as never })];
    const error = await errorOf(testBus.start({ imports, providers: providers as never }));
    expect(error).toBeInstanceOf(HandlerDiscoveryException);
    await testBus.runtime.advance(10_000);
    expect(await testBus.groups()).toEqual([]);
    return (error as HandlerDiscoveryException).problems;
  };

  it('stop the start if a binding has no handler', async () => {
    expect(await problemsOf([Orders], { orders, payments })).toEqual([
      "Binding 'payments' has no handler. Write a method with @EventHandler('payments') in a provider or controller, or remove the binding. If the application only publishes to it, set bindingsWithoutHandler: 'allow'.",
    ]);
  });

  it("start with bindingsWithoutHandler: 'allow'; a binding without a handler is only published to, and may be registered later", async () => {
    const bus = testBus.module({ bindings: { orders, payments }, bindingsWithoutHandler: 'allow' });
    const application = await testBus.start({ imports: [bus], providers: [Orders] });
    await testBus.done(application.get(EventPublisher).publish('payments', { id: 1 }));
    await testBus.runtime.advance(5_000);
    const connector = application.get(EventBusConnector);
    expect(connector.listBindings().map(({ binding }) => binding)).toEqual(['orders']);
    const seen: unknown[] = [];
    const registering = connector.register(
      'payments',
      payments,
      ({ value }) => void seen.push(value),
    );
    await testBus.done(registering);
    // The group's other member learns of the new member by its next heartbeat.
    await testBus.runtime.advance(15_000);
    expect(seen).toEqual([{ id: 1 }]);
  });

  it('stop the start if a handler names an unknown binding, and suggest the right one', async () => {
    @Injectable()
    class Typo {
      @EventHandler('order')
      handle(): void {}
    }
    const [problem] = await problemsOf([Orders, Typo], { orders });
    expect(problem).toContain("handles binding 'order', which is not configured.");
    expect(problem).toContain("Did you mean 'orders'?");
  });

  it('are reported all in one error', async () => {
    @Injectable()
    class Typo {
      @EventHandler('order')
      handle(): void {}
    }
    expect(await problemsOf([Typo], { orders, payments })).toHaveLength(3);
  });

  it('are reported together with mistakes in the handlers themselves', async () => {
    @Injectable()
    class Typo {
      @EventHandler('order')
      handle(): void {}
      @EventHandler('orders', { type: '' })
      nameless(): void {}
    }
    expect(await problemsOf([Typo], { orders })).toEqual([
      'Typo.nameless in RootTestModule: its type is not a name.',
      expect.stringContaining("Did you mean 'orders'?"),
    ]);
  });

  it("are reported for all bindings at once with enhancers: 'all'", async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Scoped implements CanActivate {
      canActivate(): boolean {
        return true;
      }
    }
    @Injectable()
    class Both {
      @EventHandler('orders')
      one(): void {}
      @EventHandler('payments')
      other(): void {}
    }
    const all = { enhancers: 'all' } as const;
    const guard = { provide: APP_GUARD, useClass: Scoped };
    const bindings = { orders: { ...orders, ...all }, payments: { ...payments, ...all } };
    expect(await problemsOf([Both, guard], bindings)).toEqual([
      expect.stringContaining('Both.one'),
      expect.stringContaining('Both.other'),
    ]);
  });

  it('stop the start if two handlers take the same type', async () => {
    @Injectable()
    class Twice {
      @EventHandler('orders')
      one(): void {}
      @EventHandler('orders')
      other(): void {}
    }
    expect(await problemsOf([Twice], { orders })).toHaveLength(1);
  });
});
