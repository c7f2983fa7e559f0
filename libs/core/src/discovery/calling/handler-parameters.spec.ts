import {
  createParamDecorator,
  Injectable,
  ParseIntPipe,
  Query,
  ValidationPipe,
  type ExecutionContext,
  type PipeTransform,
} from '@nestjs/common';
import { IsInt } from 'class-validator';
import type { EventContext } from '../../model/records/event-context.js';
import type { EventHeaders, EventRecord } from '../../model/records/event-record.js';
import {
  contextOf,
  deliver,
  explore,
  failureOf,
  problemsOf,
  recordOf,
} from '../discovery.spec-support.js';
import { EventHandler } from '../decorators/event-handler.js';
import { Ctx, FullRecord, Header, Headers, Key, Payload } from '../decorators/parameters.js';

let handled: unknown[];

beforeEach(() => {
  handled = [];
});

class Order {
  @IsInt()
  id!: number;
}

describe('Parameters of a handler', () => {
  it('are the record and its context by default', async () => {
    class Handlers {
      @EventHandler('orders')
      handle(...args: unknown[]): void {
        handled = args;
      }
    }
    const [record, context] = [recordOf(1), contextOf()];
    await deliver((await explore({ providers: [Handlers] })).handlers[0]!, record, context);
    expect(handled).toEqual([record, context]);
    expect(handled[0]).toBe(record);
  });

  it('get the values that their decorators name, and undecorated ones get undefined', async () => {
    class Handlers {
      @EventHandler('orders')
      handle(
        @Payload() order: unknown,
        @Payload('id') id: number,
        nothing: unknown,
        @Key() key: string,
        @Header('trace') trace: string,
        @Headers() headers: EventHeaders,
        @Ctx() context: EventContext,
        @FullRecord() record: EventRecord,
      ): void {
        handled = [order, id, nothing, key, trace, headers.names(), context, record];
      }
    }
    const [record, context] = [recordOf({ id: 5 }), contextOf()];
    await deliver((await explore({ providers: [Handlers] })).handlers[0]!, record, context);
    expect(handled).toEqual([
      { id: 5 },
      5,
      undefined,
      'key-0',
      'abc',
      ['trace', 'offset'],
      context,
      record,
    ]);
  });

  it('are arrays in a batch handler', async () => {
    class Handlers {
      @EventHandler.Batch('orders')
      handle(
        @Payload('id') ids: number[],
        @Header('offset') offsets: string[],
        @Ctx() contexts: EventContext[],
      ): void {
        handled = [ids, offsets, contexts.length];
      }
    }
    const { handlers } = await explore({ providers: [Handlers] });
    const records = [recordOf({ id: 5 }, 0), recordOf({ id: 6 }, 1)];
    await handlers[0]!.invoke(records, [contextOf(), contextOf()]);
    expect(handled).toEqual([[5, 6], ['0', '1'], 2]);
  });

  it('pass through their pipes, instances or injected classes', async () => {
    @Injectable()
    class Prefix {
      readonly text = 'no. ';
    }
    @Injectable()
    class PrefixPipe implements PipeTransform<string, string> {
      constructor(private readonly prefix: Prefix) {}
      transform(value: string): string {
        return this.prefix.text + value;
      }
    }
    class Handlers {
      @EventHandler('orders')
      handle(@Key(PrefixPipe) key: string, @Header('offset', new ParseIntPipe()) offset: number) {
        handled = [key, offset];
      }
    }
    Reflect.defineMetadata('design:paramtypes', [Prefix], PrefixPipe);
    await deliver((await explore({ providers: [Handlers, Prefix] })).handlers[0]!);
    expect(handled).toEqual(['no. key-0', 0]);
  });

  it('are validated by a ValidationPipe like the body of a request', async () => {
    class Handlers {
      @EventHandler('orders')
      handle(@Payload(new ValidationPipe({ transform: true })) order: Order): void {
        handled = [order];
      }
    }
    const { handlers } = await explore({ providers: [Handlers] });
    await deliver(handlers[0]!, recordOf({ id: 1 }));
    expect(handled[0]).toBeInstanceOf(Order);
    await expect(deliver(handlers[0]!, recordOf({ id: 'x' }))).rejects.toMatchObject({
      status: 400,
    });
  });

  it('may have a decorator of the application', async () => {
    const Trace = createParamDecorator((_data: unknown, context: ExecutionContext) => [
      context.getType(),
      context.switchToRpc().getData<EventRecord>().headers.get('trace'),
      context.getClass().name,
    ]);
    class Handlers {
      @EventHandler('orders')
      handle(@Payload() order: unknown, @Trace() trace: unknown): void {
        handled = [order, trace];
      }
    }
    await deliver((await explore({ providers: [Handlers] })).handlers[0]!, recordOf(1));
    expect(handled).toEqual([1, ['eventbus', 'abc', 'Handlers']]);
  });

  it('are those of the overriding method, not of the overridden one', async () => {
    class Base {
      @EventHandler('orders')
      handle(@Payload() order: unknown, @Key() key: unknown): void {
        handled = [order, key];
      }
    }
    class Child extends Base {
      @EventHandler('orders')
      override handle(@Key() ...args: unknown[]): void {
        handled = args;
      }
    }
    await deliver((await explore({ providers: [Child] })).handlers[0]!);
    expect(handled).toEqual(['key-0']);
  });

  it('stop the start if they have a decorator of another transport', async () => {
    class Handlers {
      @EventHandler('orders')
      handle(@Query() query: unknown): void {
        handled = [query];
      }
    }
    expect(await problemsOf({ providers: [Handlers] })).toEqual([
      expect.stringContaining('its parameter 0 has a decorator of another transport'),
    ]);
  });

  it('are not confused with those of another class that has the same name', async () => {
    const build = (decorators: readonly ParameterDecorator[]) => {
      class Same {
        handle(...args: unknown[]): void {
          handled.push(args);
        }
      }
      decorators.forEach((decorate, index) => decorate(Same.prototype, 'handle', index));
      return Same;
    };
    const [One, Two] = [build([Key(new PassOn())]), build([Payload(new PassOn())])];
    decorateHandler(One.prototype, 'A');
    decorateHandler(Two.prototype, 'B');
    const { handlers } = await explore({ providers: [One, Two] });
    await deliver(handlers[0]!, recordOf('value'));
    await deliver(handlers[1]!, recordOf('value'));
    expect(handled).toEqual([['key-0'], ['value']]);
  });

  it('fail the record if a pipe refuses the value', async () => {
    class Handlers {
      @EventHandler('orders')
      handle(@Key(new ParseIntPipe()) key: number): void {
        handled = [key];
      }
    }
    expect(await failureOf((await explore({ providers: [Handlers] })).handlers[0]!)).toMatchObject({
      status: 400,
    });
    expect(handled).toEqual([]);
  });
});

class PassOn implements PipeTransform {
  transform(value: unknown): unknown {
    return value;
  }
}

function decorateHandler(prototype: { handle(): void }, type: string): void {
  const descriptor = Object.getOwnPropertyDescriptor(prototype, 'handle')!;
  EventHandler('orders', { type })(prototype, 'handle', descriptor);
}
