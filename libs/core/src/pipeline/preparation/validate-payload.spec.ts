// oxlint-disable-next-line import/no-unassigned-import -- class-transformer's decorators need it
import 'reflect-metadata';
import { Transform, Type } from 'class-transformer';
import { IsInt, IsString, registerDecorator, ValidateNested } from 'class-validator';
import { z } from 'zod';
import type { PayloadType, StandardSchema } from '../../discovery/decorators/payload-type.js';
import type { PayloadValidationException } from '../../errors/handler-errors.js';
import type { EventRecord } from '../../model/records/event-record.js';
import { deliveryOf, errorOf, handler, processorOf } from '../pipeline.spec-support.js';

const succeeded = { kind: 'succeeded' };

let handled: unknown[];

beforeEach(() => {
  handled = [];
});

describe('validatePayload', () => {
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

  it('gives the handler an instance of the class, with instances of its parts', async () => {
    expect(await validated(Order, { id: 1, lines: [{ article: 'a' }] })).toEqual(succeeded);
    expect(handled[0]).toBeInstanceOf(Order);
    expect((handled[0] as Order).lines![0]).toBeInstanceOf(Line);
  });

  it('accepts any object for a class without rules', async () => {
    expect(await validated(Plain, { id: 'x' })).toEqual(succeeded);
    expect(handled[0]).toBeInstanceOf(Plain);
  });

  it('gives the handler the result of a synchronous schema without a promise', () => {
    expect(validated(schema, { id: '7' })).toEqual(succeeded);
    expect(handled).toEqual([{ id: 7, tags: [] }]);
  });

  it('waits for an asynchronous schema', async () => {
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
  ])('fails the record: %s', async (_what, payload, value, issues) => {
    const error = errorOf(await validated(payload, value));
    expect(error).toMatchObject({
      code: 'PAYLOAD_VALIDATION',
      retriable: false,
      issues: issues.map((issue) => expect.stringMatching(issue) as unknown),
      message: expect.stringContaining("registered for 'orders'") as unknown,
    });
    expect(handled).toEqual([]);
  });

  describe('the issues of a schema', () => {
    type Issue = { message: string; path?: readonly PropertyKey[]; code?: unknown; type?: unknown };
    const complaints = async (value: unknown, ...issues: readonly Issue[]) => {
      const payload: StandardSchema = {
        '~standard': { version: 1, vendor: 'test', validate: () => ({ issues }) },
      };
      return (errorOf(await validated(payload, value)) as PayloadValidationException).issues;
    };
    const card = { number: '4111 1111', owner: { name: 'Jane "J." Doe', age: 37 } };

    it.each<[string, Issue, string]>([
      ['words', { message: "received '4111 1111'", path: ['number'], code: 'x' }, 'number: x'],
      ['a number', { message: 'found 37', path: ['owner', 'age'], code: 'x' }, 'owner.age: x'],
      [
        'text in JSON',
        { message: 'got "Jane \\"J.\\" Doe"', path: ['owner'] },
        'owner: is not valid',
      ],
      ['a part of the whole', { message: 'no 4111 1111 here', type: 'refine' }, 'refine'],
      ['with a code like a text', { message: 'is 37', code: 'is 37' }, 'is not valid'],
    ])('lose their message if it quotes %s', async (_, issue, told) => {
      expect(await complaints(card, issue)).toEqual([told]);
    });

    it('keep their message if it quotes no value', async () => {
      const issue = { message: 'a Janeway costs 371 and more', path: ['owner', 'name'], code: 'x' };
      expect(
        await complaints({ owner: { name: 'Jane', age: 37, is: true, no: null } }, issue),
      ).toEqual(['owner.name: a Janeway costs 371 and more']);
    });

    it('may name the allowed values, but not the refused one', async () => {
      const grade = z.object({
        grade: z.enum(['A', 'B'], {
          error: ({ input }) => `expected A or B, received ${String(input)}`,
        }),
      });
      const error = errorOf(await validated(grade, { grade: 'jane@example.org' }));
      expect(error).toMatchObject({ issues: ['grade: invalid_value'] });
      expect(error.message).not.toContain('jane');
    });
  });

  it('fails the record with the error of a schema that throws', async () => {
    const broken: StandardSchema = {
      '~standard': { version: 1, vendor: 'test', validate: () => Promise.reject(new Error('db')) },
    };
    expect(errorOf(await validated(broken, {})).message).toBe('db');
  });
});
