import {
  Inject,
  Injectable,
  Scope,
  UseGuards,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { ContextIdFactory, REQUEST, type ContextId, type ContextIdStrategy } from '@nestjs/core';
import type { EventRecord } from '../../model/records/event-record.js';
import { contextOf, deliver, explore, failureOf, recordOf } from '../discovery.spec-support.js';
import { EventHandler } from '../decorators/event-handler.js';
import type { EventBusRequest } from './host-request.js';
import { Key } from '../decorators/parameters.js';

let constructed: number;
let handled: unknown[];

beforeEach(() => {
  constructed = 0;
  handled = [];
});

class Counting {
  readonly number = ++constructed;
}

@Injectable({ scope: Scope.REQUEST })
class RequestScoped extends Counting {
  @Inject(REQUEST) readonly request!: EventBusRequest;

  @EventHandler('orders')
  handle(record: EventRecord): void {
    handled.push([this.number, this.request, record]);
  }
}

@Injectable({ scope: Scope.TRANSIENT })
class Transient extends Counting {
  @EventHandler('orders')
  handle(@Key() key: string): void {
    handled.push([this.number, key]);
  }
}

describe('A handler on a request-scoped provider', () => {
  it('is found without creating an instance', async () => {
    const { handlers, hosts } = await explore({ providers: [RequestScoped] });
    expect(handlers).toHaveLength(1);
    expect(hosts).toEqual([]);
    expect(constructed).toBe(0);
  });

  it('gets its own instance for each record, with the record and its context as REQUEST', async () => {
    const { handlers } = await explore({ providers: [RequestScoped] });
    const [one, two, context] = [recordOf(1, 1), recordOf(2, 2), contextOf()];
    await deliver(handlers[0]!, one, context);
    await deliver(handlers[0]!, two, context);
    expect(handled).toEqual([
      [1, { record: one, context }, one],
      [2, { record: two, context }, two],
    ]);
  });

  it('is found on a provider that depends on a request-scoped one', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Tenant {}
    class Dependent extends Counting {
      @Inject(Tenant) readonly tenant!: Tenant;
      @EventHandler('orders')
      handle(): void {
        handled.push(this.tenant instanceof Tenant);
      }
    }
    const { handlers } = await explore({ providers: [Tenant, Dependent] });
    await deliver(handlers[0]!);
    expect(handled).toEqual([true]);
  });

  it('fails the record if its constructor throws', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Broken {
      constructor() {
        throw new Error('no tenant');
      }
      @EventHandler('orders')
      handle(): void {}
    }
    const { handlers } = await explore({ providers: [Broken] });
    expect(await failureOf(handlers[0]!)).toMatchObject({ message: 'no tenant' });
  });

  it('follows the durable strategy of the application', async () => {
    class ByTenant implements ContextIdStrategy<EventBusRequest> {
      readonly #tree = ContextIdFactory.create();
      attach(contextId: ContextId) {
        return {
          resolve: ({ isTreeDurable }: { isTreeDurable: boolean }) =>
            isTreeDurable ? this.#tree : contextId,
          payload: { tenant: 'A' },
        };
      }
    }
    @Injectable({ scope: Scope.REQUEST, durable: true })
    class Durable extends Counting {
      @Inject(REQUEST) readonly request!: unknown;
      @EventHandler('orders')
      handle(): void {
        handled.push([this.number, this.request]);
      }
    }
    ContextIdFactory.apply(new ByTenant());
    try {
      const { handlers } = await explore({ providers: [Durable] });
      await deliver(handlers[0]!);
      await deliver(handlers[0]!);
      expect(handled).toEqual([
        [1, { tenant: 'A' }],
        [1, { tenant: 'A' }],
      ]);
    } finally {
      ContextIdFactory.apply(undefined as never);
    }
  });
});

describe('A handler on a transient provider', () => {
  it('gets its own instance for each record', async () => {
    const { handlers } = await explore({ providers: [Transient] });
    const before = constructed;
    await deliver(handlers[0]!);
    await deliver(handlers[0]!);
    expect(before).toBe(0);
    expect(handled).toEqual([
      [1, 'key-0'],
      [2, 'key-0'],
    ]);
  });
});

describe('Request-scoped enhancers', () => {
  it.each([Scope.REQUEST, Scope.TRANSIENT])(
    'are applied with their dependencies (scope %s)',
    async (scope) => {
      @Injectable()
      class Policy {
        readonly allows = 'key-0';
      }
      @Injectable({ scope })
      class Guard extends Counting implements CanActivate {
        @Inject(Policy) readonly policy!: Policy;
        canActivate(context: ExecutionContext): boolean {
          handled.push(this.number);
          return context.switchToRpc().getData<EventRecord>().key === this.policy.allows;
        }
      }
      class Guarded {
        @EventHandler('orders')
        @UseGuards(Guard)
        handle(): void {
          handled.push('called');
        }
      }
      const { handlers } = await explore({ providers: [Guarded, Policy] });
      await deliver(handlers[0]!);
      await deliver(handlers[0]!);
      const [first, second] = scope === Scope.REQUEST ? [1, 2] : [1, 1];
      expect(handled).toEqual([first, 'called', second, 'called']);
      await expect(deliver(handlers[0]!, recordOf(1, 9))).rejects.toMatchObject({
        code: 'HANDLER_REFUSED',
      });
    },
  );
});
