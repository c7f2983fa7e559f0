// oxlint-disable-next-line import/no-unassigned-import -- class-transformer's decorators need it
import 'reflect-metadata';
import { Expose, Transform, Type } from 'class-transformer';
import { IsInt, IsString } from 'class-validator';
import type { PayloadType } from '../../discovery/decorators/payload-type.js';
import type { EventRecord } from '../../model/records/event-record.js';
import { deliveryOf, errorOf, handler, now, processorOf } from '../pipeline.spec-support.js';
import { TypeRegistry } from './type-registry.js';
import { TypedJsonDeserializer, TypedJsonSerializer } from './typed-json.js';

class OrderEvent {
  @IsInt()
  id!: number;
}
class Line {
  article!: string;
}
class OrderPlaced extends OrderEvent {
  @Type(() => Line)
  lines!: Line[];

  @Transform(({ value }: { value: number }) => value * 100, { toClassOnly: true })
  cents?: number;
}
class OrderPaid extends OrderEvent {
  @Expose({ name: 'payed_by' })
  payer!: string;
}
class Thrower {
  constructor() {
    throw new Error('no');
  }
}

const TYPES = {
  'com.shop.orders.OrderPlaced': OrderPlaced,
  'com.shop.orders.OrderPaid': OrderPaid,
  'com.shop.Thrower': Thrower,
  'org.other.OrderPlaced': OrderPlaced,
};

let handled: unknown[];
beforeEach(() => {
  handled = [];
});

const registry = (trusted: readonly string[] = ['com.shop.*']): TypeRegistry =>
  new TypeRegistry(TYPES, trusted);

function process(
  value: unknown,
  type?: string,
  { payload, trusted = ['com.shop.*'] }: { payload?: PayloadType; trusted?: string[] } = {},
) {
  const keep = handler(({ value: read }: EventRecord) => void handled.push(read), { payload });
  const headers: Record<string, string> = type === undefined ? {} : { __TypeId__: type };
  return processorOf([keep], {
    deserializer: new TypedJsonDeserializer(registry(trusted)),
  }).process(deliveryOf({ value, headers }));
}

const refusal = (value: unknown, type: string, trusted?: string[]): Error =>
  errorOf(now(process(value, type, { trusted })));

describe('The header __TypeId__', () => {
  it('decides the class of a value', () => {
    now(process({ id: 1, lines: [{ article: 'pen' }], cents: 3 }, 'com.shop.orders.OrderPlaced'));
    now(process({ id: 2, payed_by: 'Ann' }, 'com.shop.orders.OrderPaid'));
    const [placed, paid] = handled as [OrderPlaced, OrderPaid];
    expect(placed).toBeInstanceOf(OrderPlaced);
    expect(placed.lines[0]).toBeInstanceOf(Line);
    expect(placed.cents).toBe(300);
    expect(paid).toBeInstanceOf(OrderPaid);
    expect(paid.payer).toBe('Ann');
  });

  it('may be missing: the value is then plain JSON', () => {
    expect(process({ id: 1 })).toEqual({ kind: 'succeeded' });
    expect(handled).toEqual([{ id: 1 }]);
    expect(Object.getPrototypeOf(handled[0])).toBe(Object.prototype);
  });

  it.each([
    ['in no trusted package', 'org.other.OrderPlaced', ['com.shop.*']],
    ['in no trusted package', 'com.shopping.OrderPlaced', ['com.shop.*']],
    ['in no trusted package', 'com.shop.orders.OrderPlaced', ['com.shop']],
    ['in no trusted package', 'com.shop.orders.OrderPlaced', []],
    ['not registered', 'com.shop.orders.OrderLost', ['com.shop.*']],
    ['not registered', 'com.shop.constructor', ['*']],
    ['not registered', 'constructor', ['*']],
    ['not registered', '__proto__', ['*']],
    ['not registered', '', ['*']],
  ])('is refused because it is %s: %s (trusted: %j)', (why, type, trusted) => {
    const error = refusal({ id: 1 }, type, trusted);
    expect(error).toMatchObject({ code: 'DESERIALIZATION', retriable: false });
    expect(error.message).toContain(why);
    expect(handled).toEqual([]);
  });

  it.each([
    ['com.shop.orders.OrderPlaced', ['com.shop.orders']],
    ['com.shop.orders.OrderPlaced', ['org', 'com.shop.*']],
    ['com.shop.orders.OrderPlaced', ['*']],
  ])('is trusted: %s by %j', (type, trusted) => {
    expect(process({ id: 1 }, type, { trusted })).toEqual({ kind: 'succeeded' });
  });

  it('is shortened in the error', () => {
    expect(refusal({}, 'x'.repeat(5_000)).message.length).toBeLessThan(700);
  });

  it.each([
    ['a list', [1]],
    ['text', 'x'],
    ['null in JSON', Buffer.from('null')],
  ])('is refused for a value that is no object: %s', (_, value) => {
    expect(refusal(value, 'com.shop.orders.OrderPaid').message).toContain('is no object');
  });

  it('fails the record if the class cannot be instantiated', () => {
    expect(refusal({}, 'com.shop.Thrower')).toMatchObject({ code: 'DESERIALIZATION' });
  });
});

describe('A hostile value', () => {
  it.each([
    '{"__proto__":{"polluted":1},"id":1}',
    '{"id":1,"lines":[{"__proto__":{"polluted":1}}]}',
    '{"constructor":{"prototype":{"polluted":1}},"id":1}',
  ])('changes nothing else: %s', (json) => {
    now(process(Buffer.from(json), 'com.shop.orders.OrderPlaced'));
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    const [value] = handled as [Record<string, unknown>];
    expect(value['polluted']).toBeUndefined();
    expect(Object.getPrototypeOf(value)).toBe(OrderPlaced.prototype);
  });

  it('cannot name the class of a nested object', () => {
    const outcome = process(
      Buffer.from('{"id":1,"inner":{"constructor":"x"}}'),
      'com.shop.orders.OrderPlaced',
    );
    expect(errorOf(now(outcome))).toMatchObject({ code: 'DESERIALIZATION' });
  });
});

describe('The payload class of a typed value', () => {
  class Stranger {
    @IsString()
    name!: string;
  }

  it('accepts an instance of a subclass, and does not change its class', async () => {
    const value = { id: 1, lines: [], cents: 3 };
    await process(value, 'com.shop.orders.OrderPlaced', { payload: OrderEvent });
    expect(handled[0]).toBeInstanceOf(OrderPlaced);
    expect((handled[0] as OrderPlaced).cents).toBe(300);
  });

  it('validates the value by the rules of its own class', async () => {
    const outcome = await process({ id: 'x' }, 'com.shop.orders.OrderPlaced', {
      payload: OrderEvent,
    });
    expect(errorOf(outcome)).toMatchObject({ code: 'PAYLOAD_VALIDATION' });
  });

  it('refuses another class', async () => {
    const outcome = await process({ id: 1 }, 'com.shop.orders.OrderPlaced', {
      payload: Stranger,
    });
    expect(errorOf(outcome)).toMatchObject({ code: 'PAYLOAD_VALIDATION' });
  });
});

describe('A written typed value', () => {
  const serializer = new TypedJsonSerializer(registry());

  it('names its class, and can be read back', () => {
    const paid = Object.assign(new OrderPaid(), { id: 1, payer: 'Ann' });
    const { value, headers } = serializer.serialize(paid);
    expect(value).toBe('{"id":1,"payed_by":"Ann"}');
    expect(headers).toEqual({ __TypeId__: 'com.shop.orders.OrderPaid' });
    now(process(Buffer.from(value), headers?.['__TypeId__']));
    expect(handled).toEqual([paid]);
  });

  it('names the first of several type ids', () => {
    const { headers } = serializer.serialize(new OrderPlaced());
    expect(headers).toEqual({ __TypeId__: 'com.shop.orders.OrderPlaced' });
  });

  it.each([[{ id: 1 }], ['x'], [new Line()], [Object.create(null)], [5]])(
    'is plain JSON if its class is not registered: %j',
    (event: unknown) => {
      expect(serializer.serialize(event)).toEqual({ value: JSON.stringify(event) });
    },
  );
});
