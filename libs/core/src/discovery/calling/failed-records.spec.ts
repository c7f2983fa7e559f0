import {
  Catch,
  UnauthorizedException,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
  type CanActivate,
  type ExceptionFilter,
  type NestInterceptor,
  type PipeTransform,
  type Provider,
} from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR, ModuleRef } from '@nestjs/core';
import { of, type Observable } from 'rxjs';
import { explore, failureOf } from '../discovery.spec-support.js';
import { EventHandler } from '../decorators/event-handler.js';
import { Payload } from '../decorators/parameters.js';
import {
  Boom,
  controllerOf,
  Failing,
  Observing,
  Refusing,
  seen,
} from './enhancers.spec-support.js';

beforeEach(() => {
  seen.length = 0;
});

class JwtLike implements CanActivate {
  canActivate(): boolean {
    seen.push('jwt');
    throw new UnauthorizedException();
  }
}

class Caching implements NestInterceptor {
  intercept(): Observable<unknown> {
    seen.push('cache');
    return of('cached');
  }
}

@Catch()
class Swallowing implements ExceptionFilter {
  catch(error: unknown): unknown {
    seen.push(error);
    return { swallowed: true };
  }
}

@Catch()
class SwallowingLater extends Swallowing {
  override async catch(error: unknown): Promise<unknown> {
    return super.catch(error);
  }
}

class ThrowingPipe implements PipeTransform {
  transform(): never {
    throw new Boom('pipe');
  }
}

describe('A failed record', () => {
  const globals: readonly (readonly [string, Provider])[] = [
    ['a global filter that returns', { provide: APP_FILTER, useClass: Swallowing }],
    ['a global asynchronous filter', { provide: APP_FILTER, useClass: SwallowingLater }],
    ['a global guard of requests', { provide: APP_GUARD, useClass: JwtLike }],
    ['a global caching interceptor', { provide: APP_INTERCEPTOR, useClass: Caching }],
  ];

  it.each(globals)(
    'still fails with a global enhancer, which is not applied: %s',
    async (_name, provider) => {
      const { handlers } = await explore({ providers: [Failing, provider] });
      expect(await failureOf(handlers[0]!)).toBeInstanceOf(Boom);
      expect(seen).toEqual([]);
    },
  );

  it.each(globals)(
    'still fails with a global enhancer, also if its handler has a local enhancer: %s',
    async (_name, provider) => {
      class Local {
        @EventHandler('orders')
        @UsePipes()
        @UseInterceptors(new Observing())
        handle(): void {
          throw new Boom('handler');
        }
      }
      const { handlers } = await explore({ providers: [Local, provider] });
      expect(await failureOf(handlers[0]!)).toBeInstanceOf(Boom);
      expect(seen).toEqual(['before']);
    },
  );

  it('still fails with an enhancer that main.ts adds with useGlobal*()', async () => {
    const { handlers } = await explore({ controllers: [controllerOf(Failing)] }, (app) => {
      const { applicationConfig } = app.get(ModuleRef)['container'];
      applicationConfig!.useGlobalFilters(new Swallowing());
      applicationConfig!.useGlobalInterceptors(new Caching());
    });
    expect(await failureOf(handlers[0]!)).toBeInstanceOf(Boom);
    expect(seen).toEqual([]);
    // The enhancers are registered: a call with the scope 'all' applies them.
    const invoke = handlers[0]!.invokeWith!('all');
    expect(await failureOf({ invoke })).toMatchObject({ code: 'HANDLER_REFUSED' });
    expect(seen).toEqual(['cache', expect.objectContaining({ code: 'HANDLER_REFUSED' })]);
  });

  const locals: readonly (readonly [string, MethodDecorator, object])[] = [
    ['a guard that refuses', UseGuards(Refusing), { code: 'HANDLER_REFUSED' }],
    ['a guard that throws Unauthorized', UseGuards(JwtLike), { code: 'HANDLER_REFUSED' }],
    ['a filter that swallows', UseFilters(Swallowing), { message: 'handler' }],
    ['an asynchronous filter that swallows', UseFilters(SwallowingLater), { message: 'handler' }],
  ];

  it.each(locals)(
    'still fails if a local enhancer hides its error: %s',
    async (_name, decorator, expected) => {
      class Local extends Failing {
        @EventHandler('orders')
        @decorator
        override handle(): void {
          super.handle();
        }
      }
      const { handlers } = await explore({ providers: [Local] });
      expect(await failureOf(handlers[0]!)).toMatchObject(expected);
    },
  );

  it('still fails if a local pipe throws', async () => {
    class Local {
      @EventHandler('orders')
      @UsePipes(ThrowingPipe)
      handle(@Payload() payload: unknown): void {
        seen.push(payload);
      }
    }
    const { handlers } = await explore({ providers: [Local] });
    expect(await failureOf(handlers[0]!)).toMatchObject({ message: 'pipe' });
    expect(seen).toEqual([]);
  });
});
