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
import { catchError, map, of, retry, tap, type Observable } from 'rxjs';
import { ContainerRegistry } from '../../src/containers/container-registry.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { Payload } from '../../src/discovery/decorators/parameters.js';
import type { EventContext } from '../../src/model/records/event-context.js';
import { World } from '../support/application.spec-support.js';

let world: World;
let calls: number;
let isHealed: boolean;

beforeEach(async () => {
  world = new World();
  calls = 0;
  isHealed = false;
  await world.topic('orders');
  await world.topic('orders.DLT');
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

/** Expects a request, and breaks on anything else. */
class RolesGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    if (isHealed) return true;
    const request = context.switchToHttp().getRequest<{ user: { roles: readonly string[] } }>();
    return request.user.roles.includes('admin');
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

/** Turns what went wrong into an answer, as an API does. */
class Recovering implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(catchError(() => of({ statusCode: 500 })));
  }
}

/** Calls again, and gives everything the form of an answer. */
class Wrapping implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(
      retry(1),
      catchError(() => of(undefined)),
      map((data) => ({ data })),
    );
  }
}

class Validating implements PipeTransform {
  transform(value: unknown): unknown {
    if (!isHealed) throw new Error('not valid');
    return value;
  }
}

type Application = Pick<INestApplication, 'get'>;

const countsOf = (application: Application) =>
  application.get(ContainerRegistry, { strict: false }).require('orders').mainContainer.counts;
const deadLetters = async () =>
  (await world.records('orders.DLT')).map(({ value }) => value?.toString());

async function expectTheRecordToFail(application: Application): Promise<void> {
  await world.write('orders', '{"id":1}');
  await world.runtime.advance(1_000);
  expect(countsOf(application)).toMatchObject({ succeeded: 0, discarded: 0, deadLettered: 1 });
  expect(await deadLetters()).toEqual(['{"id":1}']);
  expect(await world.committed()).toBe(1);
}

async function expectTheNextToSucceed(application: Application): Promise<void> {
  isHealed = true;
  await world.write('orders', '{"id":2}');
  expect(countsOf(application)).toMatchObject({ succeeded: 1, deadLettered: 1 });
  expect(await world.committed()).toBe(2);
}

/** Ten minutes later the record is where it was: neither done nor anywhere else. */
async function expectTheRecordToStay(): Promise<void> {
  await world.write('orders', '{"id":1}');
  await world.runtime.advance(600_000);
  expect(calls).toBe(0);
  expect(await world.committed()).toBe(0);
  expect(await deadLetters()).toEqual([]);
}

async function expectItToBeHandled(): Promise<void> {
  isHealed = true;
  await world.runtime.advance(60_000);
  expect(calls).toBe(1);
  expect(await world.committed()).toBe(1);
  expect(await deadLetters()).toEqual([]);
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
    'an interceptor that caches',
    { provide: APP_INTERCEPTOR, useClass: Caching },
    (application) => application.useGlobalInterceptors(new Caching()),
  ],
  [
    'an interceptor that recovers',
    { provide: APP_INTERCEPTOR, useClass: Recovering },
    (application) => application.useGlobalInterceptors(new Recovering()),
  ],
  [
    'an interceptor that tries again and wraps what comes of it',
    { provide: APP_INTERCEPTOR, useClass: Wrapping },
    (application) => application.useGlobalInterceptors(new Wrapping()),
  ],
  [
    'a pipe that refuses',
    { provide: APP_PIPE, useClass: Validating },
    (application) => application.useGlobalPipes(new Validating()),
  ],
];

const guardOfRequests: Globals = [
  [
    'a guard of requests',
    { provide: APP_GUARD, useClass: JwtGuard },
    (application) => application.useGlobalGuards(new JwtGuard()),
  ],
  [
    'a guard that breaks on what is no request',
    { provide: APP_GUARD, useClass: RolesGuard },
    (application) => application.useGlobalGuards(new RolesGuard()),
  ],
];

/** One call, and no retry topic before the dead-letter topic. */
const once = { retry: { tier0: { maxAttempts: 1 }, tiers: [] } };

const busWith = (enhancers: 'local' | 'all') =>
  world.bus({ bindings: { orders: { topic: 'orders', groupId: 'shop', enhancers, ...once } } });

describe.each(['local', 'all'] as const)('with enhancers: %s', (enhancers) => {
  const bus = () => busWith(enhancers);
  // With 'local' the guard has no part in it.
  const global = enhancers === 'local' ? [...globals, ...guardOfRequests] : globals;

  describe('a record whose handler fails never counts as a success, and is dead-lettered', () => {
    it.each(global)('with %s provided for all', async (_name, provider) => {
      const application = await world.start({ imports: [bus()], providers: [Failing, provider] });
      await expectTheRecordToFail(application);
      await expectTheNextToSucceed(application);
    });

    it.each(global)('with %s that main.ts uses globally', async (_name, _provider, use) => {
      const application = await world.startHttp({ imports: [bus()], providers: [Failing] }, use);
      await expectTheRecordToFail(application);
      await expectTheNextToSucceed(application);
    });

    it.each<[string, MethodDecorator]>([
      ['a filter of its own that swallows', UseFilters(Returning)],
      ['an asynchronous one', UseFilters(ReturningLater)],
    ])('with %s', async (_name, decorator) => {
      class Filtered {
        @EventHandler('orders')
        @decorator
        handle(): void {
          failUnlessHealed();
        }
      }
      const application = await world.start({ imports: [bus()], providers: [Filtered] });
      await expectTheRecordToFail(application);
      expect(calls).toBe(1);
      await expectTheNextToSucceed(application);
    });

    it('with a pipe of its own that throws: the handler is not even called', async () => {
      class Piped {
        @EventHandler('orders')
        @UsePipes(Validating)
        handle(@Payload() _order: unknown): void {
          calls += 1;
        }
      }
      const application = await world.start({ imports: [bus()], providers: [Piped] });
      await expectTheRecordToFail(application);
      expect(calls).toBe(0);
      await expectTheNextToSucceed(application);
    });
  });

  describe('a record that a guard refuses is neither committed nor dead-lettered', () => {
    it.each<[string, MethodDecorator]>([
      ['one of its own that refuses', UseGuards({ canActivate: () => isHealed })],
      ['one of its own that throws', UseGuards(JwtGuard)],
    ])('%s', async (_name, decorator) => {
      class Guarded {
        @EventHandler('orders')
        @decorator
        handle(): void {
          calls += 1;
        }
      }
      await world.start({ imports: [bus()], providers: [Guarded] });
      await expectTheRecordToStay();
      await expectItToBeHandled();
    });
  });
});

describe("a record that a global guard refuses with enhancers: 'all' is neither committed nor dead-lettered", () => {
  it.each(guardOfRequests)('%s provided for all', async (_name, provider) => {
    await world.start({ imports: [busWith('all')], providers: [Failing, provider] });
    await expectTheRecordToStay();
    await expectItToBeHandled();
  });

  it.each(guardOfRequests)('%s that main.ts uses globally', async (_name, _provider, use) => {
    await world.startHttp({ imports: [busWith('all')], providers: [Failing] }, use);
    await expectTheRecordToStay();
    await expectItToBeHandled();
  });
});

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

  it('and answers in the place of the handler holds the record back: nobody has handled it', async () => {
    let isAnswering = true;
    const intercept = (_: ExecutionContext, next: CallHandler): Observable<unknown> =>
      isAnswering ? of('cached') : next.handle();
    const answering: Provider = { provide: APP_INTERCEPTOR, useValue: { intercept } };
    const application = await world.startOrders([working(), answering], { enhancers: 'all' });
    await expectTheRecordToStay();
    expect(world.health(application)).toMatchObject({ status: 'DEGRADED' });
    isAnswering = false;
    await expectItToBeHandled();
  });

  it('and says itself that a record is done is taken at its word', async () => {
    const intercept = (context: ExecutionContext): Observable<unknown> => {
      context.getArgByIndex<EventContext>(1).acknowledge();
      return of('seen before');
    };
    const knowing: Provider = { provide: APP_INTERCEPTOR, useValue: { intercept } };
    const application = await world.startOrders([working(), knowing], { enhancers: 'all' });
    await world.write('orders', '{}');
    expect(calls).toBe(0);
    expect(await world.committed()).toBe(1);
    expect(countsOf(application)).toMatchObject({ succeeded: 0, discarded: 1 });
    expect(world.said.warnings.filter((line) => line.includes('acknowledge'))).toEqual([]);
  });
});

describe('a guard that refuses', () => {
  it('is asked again and again, with pauses that grow', async () => {
    const asked: number[] = [];
    const canActivate = (): boolean => {
      asked.push(world.runtime.now());
      return false;
    };
    class Guarded {
      @EventHandler('orders')
      @UseGuards({ canActivate })
      handle(): void {}
    }
    await world.startOrders([Guarded]);
    await world.write('orders', '{}');
    await world.runtime.advance(600_000);
    const gaps = asked.slice(1).map((at, index) => at - asked[index]!);
    expect(gaps.length).toBeGreaterThan(10);
    expect(Math.min(...gaps.slice(5))).toBeGreaterThan(gaps[0]!);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(45_000);
  });

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
