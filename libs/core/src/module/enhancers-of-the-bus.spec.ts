import {
  Catch,
  Injectable,
  UnauthorizedException,
  UseFilters,
  UseGuards,
  UsePipes,
  type CallHandler,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
  type INestApplication,
  type NestInterceptor,
  type PipeTransform,
  type Provider,
} from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR, APP_PIPE } from '@nestjs/core';
import { of, tap, type Observable } from 'rxjs';
import { EventHandler } from '../discovery/event-handler.js';
import { Payload } from '../discovery/parameters.js';
import { World } from './application.spec-support.js';

let world: World;
let calls: number;
let isHealed: boolean;

beforeEach(async () => {
  world = new World();
  calls = 0;
  isHealed = false;
  await world.topic('orders');
});

afterEach(() => world.end());

function failUnlessHealed(): void {
  calls += 1;
  if (!isHealed) throw new Error('the database is gone');
}

@Injectable()
class Failing {
  @EventHandler('orders')
  handle(): void {
    failUnlessHealed();
  }
}

@Catch()
class Returning implements ExceptionFilter {
  catch(): unknown {
    return { statusCode: 500 };
  }
}

@Catch()
class ReturningLater implements ExceptionFilter {
  async catch(): Promise<unknown> {
    return Promise.resolve({ statusCode: 500 });
  }
}

/** Knows requests with a token, and nothing else. */
class JwtGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    if (isHealed) return true;
    const request = context.switchToHttp().getRequest<{ headers?: { authorization?: string } }>();
    if (!request.headers?.authorization) throw new UnauthorizedException();
    return true;
  }
}

/** Answers what succeeded before without asking again. */
class Caching implements NestInterceptor {
  readonly #known = new Map<string, unknown>();
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const key = context.getHandler().name;
    if (this.#known.has(key)) return of(this.#known.get(key));
    return next.handle().pipe(tap((value) => this.#known.set(key, value)));
  }
}

class Validating implements PipeTransform {
  transform(value: unknown): unknown {
    if (!isHealed) throw new Error('not valid');
    return value;
  }
}

/** Ten minutes later the record is where it was: neither done nor anywhere else. */
async function expectTheRecordToStay(): Promise<void> {
  await world.write('orders', '{"id":1}');
  await world.runtime.advance(600_000);
  expect(await world.committed()).toBe(0);
  expect(await world.topicNames()).toEqual(['orders']);
}

async function expectToGoOn(): Promise<void> {
  isHealed = true;
  await world.runtime.advance(60_000);
  expect(await world.committed()).toBe(1);
}

type Globals = readonly (readonly [string, Provider, (application: INestApplication) => unknown])[];

const globals: Globals = [
  [
    'a filter that returns',
    { provide: APP_FILTER, useClass: Returning },
    (application) => application.useGlobalFilters(new Returning()),
  ],
  [
    'an asynchronous filter',
    { provide: APP_FILTER, useClass: ReturningLater },
    (application) => application.useGlobalFilters(new ReturningLater()),
  ],
  [
    'a guard of requests',
    { provide: APP_GUARD, useClass: JwtGuard },
    (application) => application.useGlobalGuards(new JwtGuard()),
  ],
  [
    'an interceptor that caches',
    { provide: APP_INTERCEPTOR, useClass: Caching },
    (application) => application.useGlobalInterceptors(new Caching()),
  ],
  [
    'a pipe that refuses',
    { provide: APP_PIPE, useClass: Validating },
    (application) => application.useGlobalPipes(new Validating()),
  ],
];

describe.each(['local', 'all'] as const)(
  'a record whose handler fails is neither committed nor dead-lettered, with enhancers: %s',
  (enhancers) => {
    const bus = () =>
      world.bus({ bindings: { orders: { topic: 'orders', groupId: 'shop', enhancers } } });

    it.each(globals)('and %s provided for all', async (_name, provider) => {
      await world.start({ imports: [bus()], providers: [Failing, provider] });
      await expectTheRecordToStay();
      await expectToGoOn();
    });

    it.each(globals)('and %s that main.ts uses globally', async (_name, _provider, use) => {
      await world.startHttp({ imports: [bus()], providers: [Failing] }, use);
      await expectTheRecordToStay();
      await expectToGoOn();
    });

    it.each<[string, MethodDecorator]>([
      ['a guard of its own that refuses', UseGuards({ canActivate: () => isHealed })],
      ['a guard of its own that throws', UseGuards(JwtGuard)],
      ['a pipe of its own that throws', UsePipes(Validating)],
    ])('and %s: the handler is not even called', async (_name, decorator) => {
      class Guarded {
        @EventHandler('orders')
        @decorator
        handle(@Payload() _order: unknown): void {
          calls += 1;
        }
      }
      await world.start({ imports: [bus()], providers: [Guarded] });
      await expectTheRecordToStay();
      expect(calls).toBe(0);
      await expectToGoOn();
      expect(calls).toBe(1);
    });

    it.each<[string, MethodDecorator]>([
      ['a filter of its own that swallows', UseFilters(Returning)],
      ['an asynchronous one', UseFilters(ReturningLater)],
    ])('and %s', async (_name, decorator) => {
      class Filtered {
        @EventHandler('orders')
        @decorator
        handle(): void {
          failUnlessHealed();
        }
      }
      await world.start({ imports: [bus()], providers: [Filtered] });
      await expectTheRecordToStay();
      expect(calls).toBeGreaterThan(10);
      await expectToGoOn();
    });
  },
);

describe('what is global', () => {
  const refusing: Provider = { provide: APP_GUARD, useValue: { canActivate: () => false } };
  const working = () => {
    isHealed = true;
    return Failing;
  };

  it('has no part in a handler that works', async () => {
    await world.startOrders([working(), refusing]);
    await world.write('orders', '{}');
    expect(await world.committed()).toBe(1);
  });

  it("has its part with enhancers: 'all'", async () => {
    await world.startOrders([working(), refusing], { enhancers: 'all' });
    await world.write('orders', '{}');
    expect(await world.committed()).toBe(0);
    expect(calls).toBe(0);
  });

  it('and answers for the handler was asked to, and is taken at its word', async () => {
    const answering: Provider = {
      provide: APP_INTERCEPTOR,
      useValue: { intercept: () => of('cached') },
    };
    await world.startOrders([Failing, answering], { enhancers: 'all' });
    await world.write('orders', '{}');
    expect(calls).toBe(0);
    expect(await world.committed()).toBe(1);
  });
});

describe('a guard that refuses', () => {
  it('shows in health: its partition waits', async () => {
    class Guarded {
      @EventHandler('orders')
      @UseGuards({ canActivate: () => false })
      handle(): void {}
    }
    const application = await world.startOrders([Guarded]);
    await world.write('orders', '{}');
    const { status, bindings } = world.health(application);
    expect(status).toBe('DEGRADED');
    expect(bindings[0]?.reasons).toEqual(['eventbus-orders: orders-0 waits (backoff)']);
  });
});
