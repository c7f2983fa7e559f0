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
import { FAULT_RULES } from './fault-rules.js';
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
  ['a fetch that fails for no known reason', fetchFailed(new Error('unknown scheme'))],
  ['cancelled work', new DOMException('stop', 'AbortError')],
  ['404, of a resource that may still appear', new NotFoundException()],
  ['404 of axios', axios(404)],
  ['409, a concurrent change', new ConflictException()],
  ['412, a concurrent change', new PreconditionFailedException()],
  ['500, a bug of the server', new InternalServerErrorException()],
  ['a foreign key whose row may still appear', pg('23503')],
  ['a foreign key of MySQL', mysql('ER_NO_REFERENCED_ROW_2', 1452, '23000')],
  ['a missing table', pg('42P01')],
  ['a Redis key of another type', redisReply('WRONGTYPE Operation against a key')],
  ['a group of Redis that exists', redisReply('BUSYGROUP Consumer Group name already exists')],
  ['a wrong argument for undici', coded('UND_ERR_INVALID_ARG')],
  ['an exit code', named('Error', { status: 1 })],
  ['an event that cannot be written as JSON', new EventPublishException('a cycle')],
  ['a text', 'ETIMEDOUT'],
  ['nothing', undefined],
  ['null', null],
  ['an empty list', []],
  ['an object with issues of its own', { issues: [] }],
];

describe('faultOf()', () => {
  const cases = Object.entries(TABLE).flatMap(([rule, [fault, rows]]) =>
    rows.map(([what, thrown]) => ({ rule, what, fault, thrown })),
  );

  it.each(cases)('finds $fault ($rule): $what', ({ rule, fault, thrown }) => {
    expect(ruleFor(thrown)?.name).toBe(rule);
    expect(faultOf(thrown)).toBe(fault);
  });

  it.each(UNKNOWN)('finds no rule for %s', (_, thrown) => {
    expect(ruleFor(thrown)).toBeUndefined();
    expect(faultOf(thrown)).toBe('unknown');
  });

  it('has a test case for every rule', () => {
    expect(Object.keys(TABLE).sort()).toEqual(FAULT_RULES.map(({ name }) => name).sort());
  });

  it("blames the message for class-validator's list of errors", async () => {
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

  it('may be the dependency of a RetryableException, but never makes it a bad message', () => {
    expect(faultOf(new RetryableException('later', { cause: down }))).toBe('dependency');
    expect(faultOf(new RetryableException('later', { cause: nested(2, down) }))).toBe('dependency');
  });

  it('is checked down to eight levels', () => {
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

  it('is checked only up to a limit of errors; beyond it counts unknown', () => {
    const many = Array.from({ length: 1_000 }, () => pg('22001'));
    expect(faultOf(new AggregateError(many))).toBe('unknown');
  });
});

describe('An error that cannot be read', () => {
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
    'because its %s throws is judged by its other properties',
    (key) => {
      const error = new AggregateError([]);
      Object.defineProperty(error, key, { get: boom });
      expect(faultOf(error)).toBe('unknown');
      if (key !== 'code')
        expect(faultOf(Object.assign(error, { code: 'EPIPE' }))).toBe('dependency');
    },
  );

  it.each(TRAPS)('because of the proxy trap %s is unknown at worst', (trap) => {
    expect(['unknown', 'dependency']).toContain(
      faultOf(new Proxy(system('EPIPE'), { [trap]: boom })),
    );
  });

  it('in any other way is unknown', () => {
    expect(faultOf(revoked())).toBe('unknown');
    expect(faultOf(Object.assign(new AggregateError([]), { errors: revoked() }))).toBe('unknown');
    expect(faultOf(named('x', { getStatus: boom }))).toBe('unknown');
    expect(faultOf(Object.create(null))).toBe('unknown');
    expect(isProgrammingError(revoked())).toBe(false);
  });
});

describe('A TypeError', () => {
  it.each<[string, Error, boolean]>([
    ['undefined has no properties', new TypeError('Cannot read properties of undefined'), true],
    ['a wrong argument', Object.assign(new TypeError('x'), { code: 'ERR_INVALID_ARG_TYPE' }), true],
    ['of fetch, with the network in its cause', fetchFailed(system('ECONNREFUSED')), false],
    ['of fetch, with nothing known in its cause', fetchFailed(new Error('bad port')), false],
    ['of fetch, in the middle of an answer', fetchFailed(undefined, 'terminated'), false],
    ['with a network code of its own', Object.assign(new TypeError('x'), { code: 'EPIPE' }), false],
    ['that is none', new RangeError('x'), false],
  ])('%s (of a bug: %3$s)', (_, error, isOfABug) => {
    expect(isProgrammingError(error)).toBe(isOfABug);
  });
});
