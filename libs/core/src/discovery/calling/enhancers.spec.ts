import {
  Catch,
  ForbiddenException,
  Injectable,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
  type ArgumentsHost,
  type ExceptionFilter,
  type ExecutionContext,
  type PipeTransform,
} from '@nestjs/common';
import { of } from 'rxjs';
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
import {
  Boom,
  controllerOf,
  Failing,
  Observing,
  Refusing,
  seen,
  Succeeding,
} from './enhancers.spec-support.js';

beforeEach(() => {
  seen.length = 0;
});

describe('A guard that refuses', () => {
  it('fails the record with its own code and keeps the cause', async () => {
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

  it('differs from a handler that throws Forbidden itself', async () => {
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

  it('differs from a guard that fails', async () => {
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
  ])(
    'protects the methods of a %s, also when it is declared on the class',
    async (_name, metadata) => {
      @UseGuards(Refusing)
      class Local extends Succeeding {}
      const { handlers } = await explore(metadata(Local));
      expect(await failureOf(handlers[0]!)).toMatchObject({ code: 'HANDLER_REFUSED' });
      expect(seen).toEqual([]);
    },
  );

  it('is never skipped: if Nest creates no instance of it, the start fails', async () => {
    @UseGuards(Refusing)
    class Local extends Succeeding {}
    const providers = [{ provide: Local, useFactory: () => new Local() }];
    expect(await problemsOf({ providers })).toEqual([
      expect.stringContaining('the guard Refusing has no instance'),
    ]);
  });

  it('gets a context of type eventbus with the record', async () => {
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

describe('Interceptors', () => {
  it('run around the handler', async () => {
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

  it('and pipes are also applied to controllers', async () => {
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

  it('fail the record if they complete without a value', async () => {
    class Local {
      @EventHandler('orders')
      @UseInterceptors({ intercept: () => of<never>() })
      handle(): void {}
    }
    const { handlers } = await explore({ providers: [Local] });
    expect(await failureOf(handlers[0]!)).toMatchObject({ name: 'EmptyError' });
  });
});

describe('An exception filter', () => {
  it('observes the errors that it catches, with the record', async () => {
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
  ])(
    'cannot change the result: if it %s, the record fails with its own error',
    async (_name, react) => {
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
    },
  );
});
