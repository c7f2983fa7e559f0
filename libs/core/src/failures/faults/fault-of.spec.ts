import {
  BadRequestException,
  ConflictException,
  InternalServerErrorException,
  NotFoundException,
  PreconditionFailedException,
  ServiceUnavailableException,
} from '@nestjs/common';
import { IsInt, validateOrReject } from 'class-validator';
import { BatchProcessingException } from '../../errors/handler-errors.js';
import { EventPublishException } from '../../errors/publish-errors.js';
import { RetryableException } from '../../errors/retry-errors.js';
import { DATABASES } from './database-faults.spec-support.js';
import type { FaultCase, FaultTable } from './fault-case.spec-support.js';
import { HANDLER_AND_NETWORK } from './handler-faults.spec-support.js';
import { faultOf, ruleFor } from './fault-of.js';
import { FAULT_RULES } from './rules/all-fault-rules.js';
import type { Fault } from './fault.js';
import {
  axios,
  coded,
  fetchFailed,
  mysql,
  named,
  pg,
  redisReply,
  system,
} from './recorded-errors.spec-support.js';
import { isProgrammingError } from './is-programming-error.js';

class Order {
  @IsInt() id = 'none';
}

const TABLE: FaultTable = { ...HANDLER_AND_NETWORK, ...DATABASES };

/** Errors that match no rule. */
const UNKNOWN: readonly FaultCase[] = [
  ['an Error', new Error('boom')],
  ['a TypeError of a bug', new TypeError("Cannot read properties of undefined (reading 'id')")],
  ['a SyntaxError, of the message or of an answer', new SyntaxError('Unexpected token <')],
  ['a fetch that failed with an unknown cause', fetchFailed(new Error('unknown scheme'))],
  ['cancelled work', new DOMException('stop', 'AbortError')],
  ['404, of a resource that may still appear', new NotFoundException()],
  ['404 of axios', axios(404)],
  ['409, a concurrent change', new ConflictException()],
  ['412, a concurrent change', new PreconditionFailedException()],
  ['500, a bug of the server', new InternalServerErrorException()],
  ['a foreign key whose row may be written later', pg('23503')],
  ['a foreign key of MySQL', mysql('ER_NO_REFERENCED_ROW_2', 1452, '23000')],
  ['a missing table', pg('42P01')],
  ['a Redis key of another type', redisReply('WRONGTYPE Operation against a key')],
  ['a group of Redis that exists', redisReply('BUSYGROUP Consumer Group name already exists')],
  ['a wrong argument for undici', coded('UND_ERR_INVALID_ARG')],
  ['an exit code', named('Error', { status: 1 })],
  ['an event that cannot be written as JSON', new EventPublishException('a cycle')],
  ['a text', 'ETIMEDOUT'],
  [
    'an error of MongoDB without a label for another attempt',
    Object.assign(new Error('no'), { hasErrorLabel: () => false }),
  ],
  ['nothing', undefined],
  ['null', null],
  ['an empty list', []],
  ['an object with an empty list of issues', { issues: [] }],
];

describe('faultOf()', () => {
  const cases = Object.entries(TABLE).flatMap(([rule, [fault, rows]]) =>
    rows.map(([what, thrown]) => ({ rule, what, fault, thrown })),
  );

  it.each(cases)('returns $fault by the rule $rule: $what', ({ rule, fault, thrown }) => {
    expect(ruleFor(thrown)?.name).toBe(rule);
    expect(faultOf(thrown)).toBe(fault);
  });

  it.each(UNKNOWN)("returns 'unknown' for %s", (_, thrown) => {
    expect(ruleFor(thrown)).toBeUndefined();
    expect(faultOf(thrown)).toBe('unknown');
  });

  it('is tested with every rule', () => {
    expect(Object.keys(TABLE).sort()).toEqual(FAULT_RULES.map(({ name }) => name).sort());
  });

  it("returns 'message' for the list of errors that class-validator throws", async () => {
    const thrown: unknown = await validateOrReject(new Order()).catch((errors: unknown) => errors);
    expect(faultOf(thrown)).toBe('message');
  });
});

describe('The cause of an error', () => {
  const down = system('ECONNREFUSED');
  const bad = pg('22001');
  const nested = (depth: number, cause: unknown): unknown =>
    depth === 0 ? cause : new Error(`${depth}`, { cause: nested(depth - 1, cause) });

  it('decides if no rule matches the error itself', () => {
    expect(faultOf(nested(3, down))).toBe('dependency');
    expect(faultOf(nested(3, bad))).toBe('message');
    expect(faultOf(new BatchProcessingException(2, 'third', [], { cause: down }))).toBe(
      'dependency',
    );
    expect(faultOf(new InternalServerErrorException('x', { cause: down }))).toBe('dependency');
  });

  it('does not decide if a rule matches the error itself', () => {
    expect(faultOf(new BadRequestException('x', { cause: down }))).toBe('message');
    expect(faultOf(new ServiceUnavailableException('x', { cause: bad }))).toBe('dependency');
  });

  it('may make a RetryableException a dependency fault, but never a fault of the message', () => {
    expect(faultOf(new RetryableException('later', { cause: down }))).toBe('dependency');
    expect(faultOf(new RetryableException('later', { cause: nested(2, down) }))).toBe('dependency');
  });

  it('is checked to a depth of eight', () => {
    expect(faultOf(nested(8, down))).toBe('dependency');
    expect(faultOf(nested(9, down))).toBe('unknown');
  });

  it('may be the error itself', () => {
    const one = new Error('one');
    one.cause = new Error('other', { cause: one });
    expect(faultOf(one)).toBe('unknown');
    const all = new AggregateError([]);
    all.errors.push(all, down);
    expect(faultOf(all)).toBe('dependency');
  });

  it('is read once, however often it occurs', () => {
    const read = jest.fn();
    const all = new AggregateError([]);
    Object.defineProperty(all, 'message', { get: read });
    all.errors.push(all, all, all);
    all.cause = all;
    faultOf(all);
    expect(read).toHaveBeenCalledTimes(1);
  });

  it.each<[string, unknown[], Fault]>([
    ['dependency, if one error is a dependency’s', [bad, new Error('x'), down], 'dependency'],
    ['message, if all errors are the message’s', [bad, pg('23505')], 'message'],
    [
      'unknown, if one error is unknown and none is a dependency’s',
      [bad, new Error('x')],
      'unknown',
    ],
    ['unknown, without errors', [], 'unknown'],
  ])('in an AggregateError gives %s', (_, errors, fault) => {
    expect(faultOf(new AggregateError(errors))).toBe(fault);
    expect(faultOf(new Error('wrapped', { cause: new AggregateError(errors) }))).toBe(fault);
  });

  it("is checked only up to a limit of errors; 'unknown' is the result beyond it", () => {
    const many = Array.from({ length: 1_000 }, () => pg('22001'));
    expect(faultOf(new AggregateError(many))).toBe('unknown');
  });
});

describe('faultOf() of an error that cannot be read', () => {
  const boom = (): never => {
    throw new TypeError('do not look');
  };
  const TRAPS = ['get', 'getPrototypeOf', 'getOwnPropertyDescriptor', 'has', 'ownKeys'] as const;
  const revoked = () => {
    const { proxy, revoke } = Proxy.revocable(new Error('x'), {});
    revoke();
    return proxy;
  };

  it.each(['name', 'message', 'code', 'cause', 'errno', 'status', 'response', 'issues', 'errors'])(
    'uses the other properties if `%s` throws',
    (key) => {
      const error = new AggregateError([]);
      Object.defineProperty(error, key, { get: boom });
      expect(faultOf(error)).toBe('unknown');
      if (key !== 'code')
        expect(faultOf(Object.assign(error, { code: 'EPIPE' }))).toBe('dependency');
    },
  );

  it.each(TRAPS)("returns 'unknown' or 'dependency' for a proxy whose trap %s throws", (trap) => {
    expect(['unknown', 'dependency']).toContain(
      faultOf(new Proxy(system('EPIPE'), { [trap]: boom })),
    );
  });

  it("returns 'unknown' for a revoked proxy, and for any other error that throws when it is read", () => {
    expect(faultOf(revoked())).toBe('unknown');
    expect(faultOf(Object.assign(new AggregateError([]), { errors: revoked() }))).toBe('unknown');
    expect(faultOf(named('x', { getStatus: boom }))).toBe('unknown');
    expect(faultOf(Object.create(null))).toBe('unknown');
    expect(isProgrammingError(revoked())).toBe(false);
  });
});

describe('isProgrammingError()', () => {
  it.each<[string, Error, boolean]>([
    [
      'a TypeError for a property of undefined',
      new TypeError('Cannot read properties of undefined'),
      true,
    ],
    [
      'a TypeError for a wrong argument',
      Object.assign(new TypeError('x'), { code: 'ERR_INVALID_ARG_TYPE' }),
      true,
    ],
    [
      'a TypeError of fetch, with a network error as its cause',
      fetchFailed(system('ECONNREFUSED')),
      false,
    ],
    ['a TypeError of fetch, with an unknown cause', fetchFailed(new Error('bad port')), false],
    ['a TypeError of fetch, within a response', fetchFailed(undefined, 'terminated'), false],
    [
      'a TypeError with a network code',
      Object.assign(new TypeError('x'), { code: 'EPIPE' }),
      false,
    ],
    ['a RangeError', new RangeError('x'), false],
  ])('for %s (expected: %3$s)', (_, error, isOfABug) => {
    expect(isProgrammingError(error)).toBe(isOfABug);
  });
});
