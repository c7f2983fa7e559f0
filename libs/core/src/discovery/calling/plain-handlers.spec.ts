import { UseGuards, UseInterceptors, type CallHandler } from '@nestjs/common';
import { ExternalContextCreator } from '@nestjs/core';
import { ignoreElements, of, tap, type Observable } from 'rxjs';
import { contextOf, deliver, explore, failureOf, recordOf } from '../discovery.spec-support.js';
import { EventHandler } from '../decorators/event-handler.js';
import { seen, Succeeding } from './enhancers.spec-support.js';

beforeEach(() => {
  seen.length = 0;
});

describe('A handler that returns an Observable', () => {
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
    'succeeds without a value, whatever enhancers it has: %p',
    async (host) => {
      const { handlers } = await explore({ providers: [host] });
      expect(await failureOf(handlers[0]!)).toBeUndefined();
      expect(seen).toEqual(['worked']);
    },
  );
});

describe('A handler without enhancers', () => {
  it('is called synchronously, without a context creator', async () => {
    const create = jest.spyOn(ExternalContextCreator, 'fromContainer');
    const { handlers } = await explore({ providers: [Succeeding] });
    create.mockClear();
    const again = await explore({ providers: [Succeeding] });
    expect(handlers[0]!.invoke([recordOf(1)], [contextOf()])).toBeUndefined();
    expect(again.handlers).toHaveLength(1);
    // Nest creates one context creator itself per application.
    expect(create.mock.calls.length).toBeLessThanOrEqual(1);
    create.mockRestore();
  });

  it('is awaited if it returns an Observable', async () => {
    class Local {
      @EventHandler('orders')
      handle(): Observable<unknown> {
        return of(1).pipe(tap(() => seen.push('subscribed')));
      }
    }
    await deliver((await explore({ providers: [Local] })).handlers[0]!);
    expect(seen).toEqual(['subscribed']);
  });

  it('is called through a spy that is installed later', async () => {
    const { handlers, app } = await explore({ providers: [Succeeding] });
    const spy = jest.spyOn(app.get(Succeeding), 'handle').mockImplementation(() => undefined);
    await deliver(handlers[0]!);
    expect(spy).toHaveBeenCalledTimes(1);
    expect(seen).toEqual([]);
  });
});
