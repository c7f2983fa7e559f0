// oxlint-disable-next-line import/no-unassigned-import -- class-transformer's decorators need it
import 'reflect-metadata';
import { Transform, Type } from 'class-transformer';
import { IsInt, IsString, registerDecorator, ValidateNested } from 'class-validator';
import { z } from 'zod';
import type { PayloadType, StandardSchema } from '../discovery/payload-type.js';
import type { EventRecord } from '../model/event-record.js';
import { deliveryOf, errorOf, handler, processorOf } from './pipeline.spec-support.js';

const succeeded = { kind: 'succeeded' };

let handled: unknown[];

beforeEach(() => {
  handled = [];
});

describe('a payload is what its class or schema says', () => {
  class Line {
    @IsString()
    article!: string;
  }
  class Order {
    @IsInt()
    id!: number;
    @Type(() => Line)
    @ValidateNested({ each: true })
    lines?: Line[];
  }
  class Plain {
    id!: number;
  }
  class Transforming {
    @Transform(({ value }: { value: { inner: string } }) => value.inner.length)
    id!: number;
  }
  class AskingElsewhere {
    id!: number;
  }
  registerDecorator({
    target: AskingElsewhere,
    propertyName: 'id',
    async: true,
    options: { message: 'id is taken' },
    validator: { validate: async (id: unknown) => Promise.resolve(id === 1) },
  });
  const schema = z.object({ id: z.coerce.number(), tags: z.array(z.string()).default([]) });
  const asynchronous = z.object({ id: z.number().refine(async (id) => id > 0, 'too small') });

  const validated = (payload: PayloadType, value: unknown) =>
    processorOf([
      handler(({ value: it }: EventRecord) => void handled.push(it), { payload }),
    ]).process(deliveryOf({ value }));

  it('an instance of the class, its parts too', async () => {
    expect(await validated(Order, { id: 1, lines: [{ article: 'a' }] })).toEqual(succeeded);
    expect(handled[0]).toBeInstanceOf(Order);
    expect((handled[0] as Order).lines![0]).toBeInstanceOf(Line);
  });

  it('a class without rules takes any object', async () => {
    expect(await validated(Plain, { id: 'x' })).toEqual(succeeded);
    expect(handled[0]).toBeInstanceOf(Plain);
  });

  it('what a schema makes of it, at once where the schema is synchronous', () => {
    expect(validated(schema, { id: '7' })).toEqual(succeeded);
    expect(handled).toEqual([{ id: 7, tags: [] }]);
  });

  it('and later where it is not', async () => {
    expect(await validated(asynchronous, { id: 7 })).toEqual(succeeded);
  });

  it.each([
    ['a property', Order, { id: 'x' }, ['id: id must be an integer number']],
    [
      'a nested property',
      Order,
      { id: 1, lines: [{ article: 7 }] },
      ['lines.0.article: article must be a string'],
    ],
    ['a number', Order, 5, ['expected an object, found number']],
    ['an array', Order, [{ id: 1 }], ['expected an object, found an array']],
    ['an asynchronous rule', AskingElsewhere, { id: 2 }, ['id: id is taken']],
    ['a transformation', Transforming, { id: 5 }, ['a transformation of Transforming threw']],
    ['a schema', schema, { id: 'x', tags: [7] }, [/^id: /, /^tags\.0: /]],
    ['an asynchronous schema', asynchronous, { id: 0 }, ['id: too small']],
  ])('else it fails: %s', async (_what, payload, value, issues) => {
    const error = errorOf(await validated(payload, value));
    expect(error).toMatchObject({
      code: 'PAYLOAD_VALIDATION',
      retriable: false,
      issues: issues.map((issue) => expect.stringMatching(issue) as unknown),
      message: expect.stringContaining("registered for 'orders'") as unknown,
    });
    expect(handled).toEqual([]);
  });

  it('and a schema that breaks fails the record with its own error', async () => {
    const broken: StandardSchema = {
      '~standard': { version: 1, vendor: 'test', validate: () => Promise.reject(new Error('db')) },
    };
    expect(errorOf(await validated(broken, {})).message).toBe('db');
  });
});
