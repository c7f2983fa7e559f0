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
import { TestBus } from '../support/test-bus.spec-support.js';

let testBus: TestBus;
let calls: number;
let isWorking: boolean;

beforeEach(async () => {
  testBus = new TestBus();
  calls = 0;
  isWorking = false;
  await testBus.topic('orders');
  await testBus.topic('orders.DLT');
});

afterEach(() => testBus.end());

function failUnlessWorking(): void {
  calls += 1;
  if (!isWorking) throw new Error('the database is gone');
}

@Injectable()
class Failing {
  @EventHandler('orders')
  handle(): void {
    failUnlessWorking();
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

/** A guard that accepts only HTTP requests with a token. */
class JwtGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    if (isWorking) return true;
    const request = context.switchToHttp().getRequest<{ headers?: { authorization?: string } }>();
    if (!request.headers?.authorization) throw new UnauthorizedException();
    return true;
  }
}

/** A guard that expects an HTTP request and throws if there is none. */
class RolesGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    if (isWorking) return true;
    const request = context.switchToHttp().getRequest<{ user: { roles: readonly string[] } }>();
    return request.user.roles.includes('admin');
  }
}

/**
 * An interceptor that returns the cached result of an earlier call, without calling the handler.
 */
class Caching implements NestInterceptor {
  readonly #known = new Map<string, unknown>();
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const key = context.getHandler().name;
    if (this.#known.has(key)) return of(this.#known.get(key));
    return next.handle().pipe(tap((value) => this.#known.set(key, value)));
  }
}

/** An interceptor that turns an error into a response, as HTTP APIs do. */
class Recovering implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(catchError(() => of({ statusCode: 500 })));
  }
}

/**
 * An interceptor that calls the handler again after an error, and wraps each result in a response.
 */
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
    if (!isWorking) throw new Error('not valid');
    return value;
  }
}

type Application = Pick<INestApplication, 'get'>;

const countsOf = (application: Application) =>
  application.get(ContainerRegistry, { strict: false }).require('orders').mainContainer.counts;
const deadLetters = async () =>
  (await testBus.records('orders.DLT')).map(({ value }) => value?.toString());

async function expectRecordToFail(application: Application): Promise<void> {
  await testBus.write('orders', '{"id":1}');
  await testBus.runtime.advance(1_000);
  expect(countsOf(application)).toMatchObject({ succeeded: 0, discarded: 0, deadLettered: 1 });
  expect(await deadLetters()).toEqual(['{"id":1}']);
  expect(await testBus.committed()).toBe(1);
}

async function expectNextRecordToSucceed(application: Application): Promise<void> {
  isWorking = true;
  await testBus.write('orders', '{"id":2}');
  expect(countsOf(application)).toMatchObject({ succeeded: 1, deadLettered: 1 });
  expect(await testBus.committed()).toBe(2);
}

/** Expects that the record is neither handled nor dead-lettered within ten minutes. */
async function expectRecordToWait(): Promise<void> {
  await testBus.write('orders', '{"id":1}');
  await testBus.runtime.advance(600_000);
  expect(calls).toBe(0);
  expect(await testBus.committed()).toBe(0);
  expect(await deadLetters()).toEqual([]);
}

async function expectRecordToBeHandled(): Promise<void> {
  isWorking = true;
  await testBus.runtime.advance(60_000);
  expect(calls).toBe(1);
  expect(await testBus.committed()).toBe(1);
  expect(await deadLetters()).toEqual([]);
}

type GlobalEnhancers = readonly (readonly [
  string,
  Provider,
  (application: INestApplication) => unknown,
])[];

const globalEnhancers: GlobalEnhancers = [
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
    'an interceptor that calls again and wraps the result',
    { provide: APP_INTERCEPTOR, useClass: Wrapping },
    (application) => application.useGlobalInterceptors(new Wrapping()),
  ],
  [
    'a pipe that throws',
    { provide: APP_PIPE, useClass: Validating },
    (application) => application.useGlobalPipes(new Validating()),
  ],
];

const httpGuards: GlobalEnhancers = [
  [
    'a guard for HTTP requests',
    { provide: APP_GUARD, useClass: JwtGuard },
    (application) => application.useGlobalGuards(new JwtGuard()),
  ],
  [
    'a guard that throws without an HTTP request',
    { provide: APP_GUARD, useClass: RolesGuard },
    (application) => application.useGlobalGuards(new RolesGuard()),
  ],
];

/** A record has a single call, and no retry topic before the dead-letter topic. */
const once = { retry: { tier0: { maxAttempts: 1 }, tiers: [] } };

const busWith = (enhancers: 'local' | 'all') =>
  testBus.module({
    bindings: { orders: { topic: 'orders', groupId: 'shop', enhancers, ...once } },
  });

describe.each(['local', 'all'] as const)('With enhancers: %s,', (enhancers) => {
  const bus = () => busWith(enhancers);
  // With 'local', global guards do not apply to handlers of the bus, so guards for HTTP are
  // harmless too.
  const global = enhancers === 'local' ? [...globalEnhancers, ...httpGuards] : globalEnhancers;

  describe('a record whose handler fails is dead-lettered and not counted as succeeded,', () => {
    it.each(global)('despite %s provided as APP_*', async (_name, provider) => {
      const application = await testBus.start({ imports: [bus()], providers: [Failing, provider] });
      await expectRecordToFail(application);
      await expectNextRecordToSucceed(application);
    });

    it.each(global)('despite %s of useGlobal*() in main.ts', async (_name, _provider, use) => {
      const application = await testBus.startHttp({ imports: [bus()], providers: [Failing] }, use);
      await expectRecordToFail(application);
      await expectNextRecordToSucceed(application);
    });

    it.each<[string, MethodDecorator]>([
      ['a filter of the handler that swallows the error', UseFilters(Returning)],
      ['an asynchronous filter of the handler', UseFilters(ReturningLater)],
    ])('despite %s', async (_name, decorator) => {
      class Filtered {
        @EventHandler('orders')
        @decorator
        handle(): void {
          failUnlessWorking();
        }
      }
      const application = await testBus.start({ imports: [bus()], providers: [Filtered] });
      await expectRecordToFail(application);
      expect(calls).toBe(1);
      await expectNextRecordToSucceed(application);
    });

    it('even if a pipe of the handler throws before the handler is called', async () => {
      class Piped {
        @EventHandler('orders')
        @UsePipes(Validating)
        handle(@Payload() _order: unknown): void {
          calls += 1;
        }
      }
      const application = await testBus.start({ imports: [bus()], providers: [Piped] });
      await expectRecordToFail(application);
      expect(calls).toBe(0);
      await expectNextRecordToSucceed(application);
    });
  });

  describe('a record is neither committed nor dead-lettered', () => {
    it.each<[string, MethodDecorator]>([
      ['if a guard of the handler refuses it', UseGuards({ canActivate: () => isWorking })],
      ['if a guard of the handler throws', UseGuards(JwtGuard)],
    ])('%s', async (_name, decorator) => {
      class Guarded {
        @EventHandler('orders')
        @decorator
        handle(): void {
          calls += 1;
        }
      }
      await testBus.start({ imports: [bus()], providers: [Guarded] });
      await expectRecordToWait();
      await expectRecordToBeHandled();
    });
  });
});

describe("With enhancers: 'all', a record is neither committed nor dead-lettered if a global guard refuses it:", () => {
  it.each(httpGuards)('%s provided as APP_GUARD', async (_name, provider) => {
    await testBus.start({ imports: [busWith('all')], providers: [Failing, provider] });
    await expectRecordToWait();
    await expectRecordToBeHandled();
  });

  it.each(httpGuards)('%s of useGlobalGuards() in main.ts', async (_name, _provider, use) => {
    await testBus.startHttp({ imports: [busWith('all')], providers: [Failing] }, use);
    await expectRecordToWait();
    await expectRecordToBeHandled();
  });
});

describe('A global enhancer', () => {
  const refusingGuard: Provider = { provide: APP_GUARD, useValue: { canActivate: () => false } };
  const workingHandler = () => {
    isWorking = true;
    return Failing;
  };

  it('is not applied to handlers without the option enhancers', async () => {
    await testBus.startOrders([workingHandler(), refusingGuard]);
    await testBus.write('orders', '{}');
    expect(await testBus.committed()).toBe(1);
  });

  it("is applied with enhancers: 'all'", async () => {
    await testBus.startOrders([workingHandler(), refusingGuard], { enhancers: 'all' });
    await testBus.write('orders', '{}');
    expect(await testBus.committed()).toBe(0);
    expect(calls).toBe(0);
  });

  it('lets the record wait if it returns a result without a call of the handler', async () => {
    let isAnswering = true;
    const intercept = (_: ExecutionContext, next: CallHandler): Observable<unknown> =>
      isAnswering ? of('cached') : next.handle();
    const answeringInterceptor: Provider = { provide: APP_INTERCEPTOR, useValue: { intercept } };
    const application = await testBus.startOrders([workingHandler(), answeringInterceptor], {
      enhancers: 'all',
    });
    await expectRecordToWait();
    expect(testBus.health(application)).toMatchObject({ status: 'DEGRADED' });
    isAnswering = false;
    await expectRecordToBeHandled();
  });

  it('may complete the record without a call of the handler by acknowledge()', async () => {
    const intercept = (context: ExecutionContext): Observable<unknown> => {
      context.getArgByIndex<EventContext>(1).acknowledge();
      return of('seen before');
    };
    const acknowledgingInterceptor: Provider = {
      provide: APP_INTERCEPTOR,
      useValue: { intercept },
    };
    const application = await testBus.startOrders([workingHandler(), acknowledgingInterceptor], {
      enhancers: 'all',
    });
    await testBus.write('orders', '{}');
    expect(calls).toBe(0);
    expect(await testBus.committed()).toBe(1);
    expect(countsOf(application)).toMatchObject({ succeeded: 0, discarded: 1 });
    expect(testBus.log.warnings.filter((line) => line.includes('acknowledge'))).toEqual([]);
  });
});

describe('A guard that refuses a record', () => {
  it('is called again for the record after increasing delays', async () => {
    const calledAt: number[] = [];
    const canActivate = (): boolean => {
      calledAt.push(testBus.runtime.now());
      return false;
    };
    class Guarded {
      @EventHandler('orders')
      @UseGuards({ canActivate })
      handle(): void {}
    }
    await testBus.startOrders([Guarded]);
    await testBus.write('orders', '{}');
    await testBus.runtime.advance(600_000);
    const gaps = calledAt.slice(1).map((at, index) => at - calledAt[index]!);
    expect(gaps.length).toBeGreaterThan(10);
    expect(Math.min(...gaps.slice(5))).toBeGreaterThan(gaps[0]!);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(45_000);
  });

  it('sets health to DEGRADED while its partition waits', async () => {
    class Guarded {
      @EventHandler('orders')
      @UseGuards({ canActivate: () => false })
      handle(): void {}
    }
    const application = await testBus.startOrders([Guarded]);
    await testBus.write('orders', '{}');
    const { status, bindings } = testBus.health(application);
    expect(status).toBe('DEGRADED');
    expect(bindings[0]?.reasons[0]).toBe(
      'eventbus-orders: orders-0 waits (backoff): A guard of Guarded.handle in RootTestModule refused the record. Its partition waits until the guard lets it pass; the record is not dead-lettered.',
    );
  });
});
