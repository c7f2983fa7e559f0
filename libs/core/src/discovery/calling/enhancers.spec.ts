import {
  Catch,
  Controller,
  ForbiddenException,
  Injectable,
  UnauthorizedException,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
  type ArgumentsHost,
  type CallHandler,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
  type NestInterceptor,
  type PipeTransform,
  type Provider,
} from '@nestjs/common';
import {
  APP_FILTER,
  APP_GUARD,
  APP_INTERCEPTOR,
  ExternalContextCreator,
  ModuleRef,
} from '@nestjs/core';
import { ignoreElements, of, tap, type Observable } from 'rxjs';
import {
  contextOf,
  deliver,
  explore,
  failureOf,
  problemsOf,
  recordOf,
} from '../discovery.spec-support.js';
import { EventHandler } from '../decorators/event-handler.js';
import { Payload } from '../decorators/parameters.js';

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

class Refusing implements CanActivate {
  canActivate(): boolean {
    return false;
  }
}

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

describe('a record that failed is never a success', () => {
  const globals: readonly (readonly [string, Provider])[] = [
    ['a global filter that returns', { provide: APP_FILTER, useClass: Swallowing }],
    ['a global asynchronous filter', { provide: APP_FILTER, useClass: SwallowingLater }],
    ['a global guard of requests', { provide: APP_GUARD, useClass: JwtLike }],
    ['a global caching interceptor', { provide: APP_INTERCEPTOR, useClass: Caching }],
  ];

  it.each(globals)('whatever is global: %s has no part in it', async (_name, provider) => {
    const { handlers } = await explore({ providers: [Failing, provider] });
    expect(await failureOf(handlers[0]!)).toBeInstanceOf(Boom);
    expect(seen).toEqual([]);
  });

  it.each(globals)(
    'nor does it join in where something local is declared: %s',
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

  it('whatever main.ts adds with useGlobal*', async () => {
    const { handlers } = await explore({ controllers: [controllerOf(Failing)] }, (app) => {
      const { applicationConfig } = app.get(ModuleRef)['container'];
      applicationConfig!.useGlobalFilters(new Swallowing());
      applicationConfig!.useGlobalInterceptors(new Caching());
    });
    expect(await failureOf(handlers[0]!)).toBeInstanceOf(Boom);
    expect(seen).toEqual([]);
    // They were there: who asks for them has them.
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

  it.each(locals)('whatever is local: %s', async (_name, decorator, expected) => {
    class Local extends Failing {
      @EventHandler('orders')
      @decorator
      override handle(): void {
        super.handle();
      }
    }
    const { handlers } = await explore({ providers: [Local] });
    expect(await failureOf(handlers[0]!)).toMatchObject(expected);
  });

  it('whatever is local: a pipe that throws', async () => {
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

class Observing implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    seen.push('before');
    return next.handle().pipe(tap(() => seen.push('after')));
  }
}

function controllerOf<T extends new () => object>(Base: T): T {
  class Made extends (Base as new () => object) {}
  Controller()(Made);
  return Made as T;
}

describe('a guard that refuses', () => {
  it('says so with a code of its own and keeps what it threw', async () => {
    class Local {
      @EventHandler('orders')
      @UseGuards(Refusing)
      handle(): void {}
    }
    const { handlers } = await explore({ providers: [Local] });
    expect(await failureOf(handlers[0]!)).toMatchObject({
      code: 'HANDLER_REFUSED',
      retriable: true,
      message: expect.stringContaining('A guard of Local.handle in RootTestModule') as unknown,
      cause: expect.any(ForbiddenException) as unknown,
    });
  });

  it('is not to be confused with a handler that throws Forbidden itself', async () => {
    class Local {
      @EventHandler('orders')
      @UseGuards({ canActivate: () => true })
      handle(): void {
        throw new ForbiddenException('downstream');
      }
    }
    const { handlers } = await explore({ providers: [Local] });
    expect(await failureOf(handlers[0]!)).toBeInstanceOf(ForbiddenException);
  });

  it('nor with a guard that breaks', async () => {
    class Local {
      @EventHandler('orders')
      @UseGuards({
        canActivate: () => {
          throw new Boom('database');
        },
      })
      handle(): void {}
    }
    const { handlers } = await explore({ providers: [Local] });
    expect(await failureOf(handlers[0]!)).toBeInstanceOf(Boom);
  });

  it.each([
    ['provider', (type: new () => object) => ({ providers: [type] })],
    ['controller', (type: new () => object) => ({ controllers: [controllerOf(type)] })],
    [
      'provider under another token',
      (useClass: new () => object) => ({ providers: [{ provide: 'TOKEN', useClass }] }),
    ],
  ])('guards the methods of a %s, from its class too', async (_name, metadata) => {
    @UseGuards(Refusing)
    class Local extends Succeeding {}
    const { handlers } = await explore(metadata(Local));
    expect(await failureOf(handlers[0]!)).toMatchObject({ code: 'HANDLER_REFUSED' });
    expect(seen).toEqual([]);
  });

  it('is never left out: where Nest makes no instance of it, the start stops', async () => {
    @UseGuards(Refusing)
    class Local extends Succeeding {}
    const providers = [{ provide: Local, useFactory: () => new Local() }];
    expect(await problemsOf({ providers })).toEqual([
      expect.stringContaining('the guard Refusing has no instance'),
    ]);
  });

  it('sees a context of type eventbus with the record', async () => {
    const record = recordOf(1);
    const canActivate = (context: ExecutionContext) => {
      seen.push(context.getType(), context.getHandler().name, context.getArgByIndex(0) === record);
      return true;
    };
    class Local {
      @EventHandler('orders')
      @UseGuards({ canActivate })
      handle(): void {}
    }
    await deliver((await explore({ providers: [Local] })).handlers[0]!, record);
    expect(seen).toEqual(['eventbus', 'handle', true]);
  });
});

describe('interceptors', () => {
  it('go around the handler', async () => {
    class Local {
      @EventHandler('orders')
      @UseInterceptors(Observing)
      async handle(): Promise<void> {
        await Promise.resolve();
        seen.push('handled');
      }
    }
    await deliver((await explore({ providers: [Local] })).handlers[0]!);
    expect(seen).toEqual(['before', 'handled', 'after']);
  });

  it('and pipes are found on controllers too', async () => {
    @Injectable()
    class Doubling implements PipeTransform<number, number> {
      transform(value: number): number {
        return value * 2;
      }
    }
    class Local {
      @EventHandler('orders')
      @UseInterceptors(Observing)
      @UsePipes(Doubling)
      handle(@Payload() value: number): void {
        seen.push(value);
      }
    }
    const { handlers } = await explore({ controllers: [controllerOf(Local)] });
    await deliver(handlers[0]!, recordOf(4));
    expect(seen).toEqual(['before', 8, 'after']);
  });

  it('fail the record where they end without a word', async () => {
    class Local {
      @EventHandler('orders')
      @UseInterceptors({ intercept: () => of<never>() })
      handle(): void {}
    }
    const { handlers } = await explore({ providers: [Local] });
    expect(await failureOf(handlers[0]!)).toMatchObject({ name: 'EmptyError' });
  });
});

describe('a handler that gives an Observable', () => {
  const work = (): Observable<unknown> =>
    of(1).pipe(
      tap(() => seen.push('worked')),
      ignoreElements(),
    );
  class Plain {
    @EventHandler('orders')
    handle(): Observable<unknown> {
      return work();
    }
  }
  class Later {
    @EventHandler('orders')
    async handle(): Promise<Observable<unknown>> {
      return work();
    }
  }
  class Guarded {
    @EventHandler('orders')
    @UseGuards({ canActivate: () => true })
    handle(): Observable<unknown> {
      return work();
    }
  }
  class Intercepted {
    @EventHandler('orders')
    @UseInterceptors({ intercept: (_: unknown, next: CallHandler) => next.handle() })
    async handle(): Promise<Observable<unknown>> {
      return work();
    }
  }

  it.each([Plain, Later, Guarded, Intercepted])(
    'has succeeded without a value, whatever is around it: %p',
    async (host) => {
      const { handlers } = await explore({ providers: [host] });
      expect(await failureOf(handlers[0]!)).toBeUndefined();
      expect(seen).toEqual(['worked']);
    },
  );
});

describe('a filter only observes', () => {
  it('what it catches, with the record', async () => {
    @Catch(Boom)
    class OnlyBoom implements ExceptionFilter {
      catch(error: Boom, host: ArgumentsHost): void {
        seen.push(error.message, host.getType(), host.switchToRpc().getData());
      }
    }
    class Local extends Failing {
      @EventHandler('orders')
      @UseFilters(OnlyBoom)
      override handle(): void {
        super.handle();
      }
      @EventHandler('orders', { type: 'other' })
      @UseFilters(OnlyBoom)
      other(): void {
        throw new Error('other');
      }
    }
    const record = recordOf(1);
    const { handlers } = await explore({ providers: [Local] });
    await expect(deliver(handlers[0]!, record)).rejects.toThrow('handler');
    await expect(deliver(handlers[1]!, record)).rejects.toThrow('other');
    expect(seen).toEqual(['handler', 'eventbus', record]);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('filter');
      },
    ],
    ['rejects', () => Promise.reject(new Error('filter'))],
  ])('and where it %s itself, the record fails with its own error', async (_name, react) => {
    const warnings: string[] = [];
    class Local extends Failing {
      @EventHandler('orders')
      @UseFilters({ catch: react })
      override handle(): void {
        super.handle();
      }
    }
    const { handlers } = await explore({ providers: [Local] });
    const delivered = deliver(handlers[0]!, recordOf(1), contextOf(warnings));
    await expect(delivered).rejects.toThrow('handler');
    expect(warnings).toEqual([expect.stringContaining('An exception filter of Local.handle')]);
  });
});

describe('with nothing declared', () => {
  it('no context creator has a part in the call, and it is synchronous', async () => {
    const create = jest.spyOn(ExternalContextCreator, 'fromContainer');
    const { handlers } = await explore({ providers: [Succeeding] });
    create.mockClear();
    const again = await explore({ providers: [Succeeding] });
    expect(handlers[0]!.invoke([recordOf(1)], [contextOf()])).toBeUndefined();
    expect(again.handlers).toHaveLength(1);
    // Nest makes one for itself per application.
    expect(create.mock.calls.length).toBeLessThanOrEqual(1);
    create.mockRestore();
  });

  it('a handler that gives an Observable is waited for', async () => {
    class Local {
      @EventHandler('orders')
      handle(): Observable<unknown> {
        return of(1).pipe(tap(() => seen.push('subscribed')));
      }
    }
    await deliver((await explore({ providers: [Local] })).handlers[0]!);
    expect(seen).toEqual(['subscribed']);
  });

  it('a spy that comes later is called', async () => {
    const { handlers, app } = await explore({ providers: [Succeeding] });
    const spy = jest.spyOn(app.get(Succeeding), 'handle').mockImplementation(() => undefined);
    await deliver(handlers[0]!);
    expect(spy).toHaveBeenCalledTimes(1);
    expect(seen).toEqual([]);
  });
});
