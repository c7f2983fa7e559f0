import {
  Catch,
  Injectable,
  Scope,
  UnauthorizedException,
  UseInterceptors,
  type CallHandler,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
  type NestInterceptor,
  type Provider,
} from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import {
  catchError,
  EMPTY,
  map,
  mergeMap,
  NEVER,
  of,
  race,
  retry,
  throwError,
  type Observable,
} from 'rxjs';
import { ConsumerResult } from '../../model/outcomes/consumer-result.js';
import { deliver, explore, failureOf } from '../discovery.spec-support.js';
import { EventHandler } from '../decorators/event-handler.js';

class Boom extends Error {}

let seen: unknown[];

beforeEach(() => {
  seen = [];
});

class Failing {
  @EventHandler('orders')
  handle(): void {
    throw new Boom('handler');
  }
}

class Succeeding {
  @EventHandler('orders')
  handle(): void {
    seen.push('handled');
  }
}

class JwtLike implements CanActivate {
  canActivate(): boolean {
    seen.push('jwt');
    throw new UnauthorizedException();
  }
}

@Catch()
class Swallowing implements ExceptionFilter {
  catch(error: unknown): unknown {
    seen.push(error);
    return { swallowed: true };
  }
}

describe("enhancers: 'all'", () => {
  it('applies global enhancers, and filters still only observe', async () => {
    const { handlers } = await explore({
      providers: [Failing, { provide: APP_FILTER, useClass: Swallowing }],
    });
    const invoke = handlers[0]!.invokeWith!('all');
    expect(await failureOf({ invoke })).toBeInstanceOf(Boom);
    expect(seen).toEqual([expect.any(Boom)]);
  });

  it('fails the record if a global guard refuses it', async () => {
    const { handlers } = await explore({
      providers: [Succeeding, { provide: APP_GUARD, useClass: JwtLike }],
    });
    const invoke = handlers[0]!.invokeWith!('all');
    expect(await failureOf({ invoke })).toMatchObject({ code: 'HANDLER_REFUSED' });
    expect(seen).toEqual(['jwt']);
  });

  const globally = (intercept: NestInterceptor['intercept']): Provider => ({
    provide: APP_INTERCEPTOR,
    useValue: { intercept },
  });
  const answer = async (host: new () => object, intercept: NestInterceptor['intercept']) => {
    const { handlers } = await explore({ providers: [host, globally(intercept)] });
    return deliver({ invoke: handlers[0]!.invokeWith!('all') });
  };

  it.each<[string, NestInterceptor['intercept']]>([
    ['turns an error into a response', (_, next) => next.handle().pipe(catchError(() => of(1)))],
    ['answers before the handler does', (_, next) => race(next.handle(), NEVER, of(1))],
    ['answers in place of the handler', () => of('cached')],
  ])(
    'never turns a record into a success by a global interceptor that %s',
    async (_name, intercept) => {
      class Slow {
        @EventHandler('orders')
        async handle(): Promise<void> {
          await Promise.resolve();
          throw new Boom('handler');
        }
      }
      await expect(answer(Slow, intercept)).rejects.toThrow(/^handler$|in place of Slow.handle/);
    },
  );

  it('uses the result of the handler, whatever a global interceptor makes of it', async () => {
    const result = ConsumerResult.error('bad');
    class Saying {
      @EventHandler('orders')
      handle(): ConsumerResult {
        return result;
      }
    }
    const wrapped = answer(Saying, (_, next) => next.handle().pipe(map((data) => ({ data }))));
    expect(await wrapped).toBe(result);
  });

  it('lets a global interceptor fail a record and see its retry', async () => {
    let calls = 0;
    class Flaky {
      @EventHandler('orders')
      handle(): void {
        if (++calls === 1) throw new Boom('handler');
      }
    }
    await expect(answer(Flaky, (_, next) => next.handle().pipe(retry(1)))).resolves.toBeUndefined();
    const failing = answer(Succeeding, (_, next) =>
      next.handle().pipe(mergeMap(() => throwError(() => new Boom('interceptor')))),
    );
    await expect(failing).rejects.toThrow('interceptor');
  });

  it('accepts a handler whose Observable completes without a value', async () => {
    class Silent {
      @EventHandler('orders')
      handle(): Observable<never> {
        return EMPTY;
      }
    }
    await expect(answer(Silent, (_, next) => next.handle())).resolves.toBeUndefined();
  });

  it("keeps the results of the handler's own interceptors", async () => {
    class Local extends Failing {
      @EventHandler('orders')
      @UseInterceptors({
        intercept: (_context: ExecutionContext, next: CallHandler) =>
          next.handle().pipe(catchError(() => of('recovered'))),
      })
      override handle(): void {
        super.handle();
      }
    }
    expect(await answer(Local, (_, next) => next.handle())).toBe('recovered');
  });

  it('refuses request-scoped global enhancers, which would be skipped', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Scoped extends JwtLike {}
    const { handlers } = await explore({
      providers: [Succeeding, { provide: APP_GUARD, useClass: Scoped }],
    });
    expect(() => handlers[0]!.invokeWith!('all')).toThrow(
      /request-scoped or transient global guards/,
    );
    await deliver(handlers[0]!);
    expect(seen).toEqual(['handled']);
  });
});
