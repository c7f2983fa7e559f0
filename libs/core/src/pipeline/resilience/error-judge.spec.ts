import {
  BatchProcessingException,
  DeserializationException,
  HandlerRefusedException,
  PayloadValidationException,
  UnknownEventTypeException,
} from '../../errors/handler-errors.js';
import { NonRetryableException, RetryableException } from '../../errors/retry-errors.js';
import type { ErrorMatcher } from '../../config/error-matching/error-matcher.js';
import { bindingOf, recordingLogger, retryOf } from '../pipeline.spec-support.js';
import { createErrorJudge, type ErrorJudgement } from './error-judge.js';

class DatabaseError extends Error {}
class Timeout extends DatabaseError {}

const judge = (
  error: Error,
  {
    retryable = [],
    nonRetryable = [],
    logger = recordingLogger(),
  }: {
    retryable?: readonly ErrorMatcher[];
    nonRetryable?: readonly ErrorMatcher[];
    logger?: ReturnType<typeof recordingLogger>;
  } = {},
): ErrorJudgement => {
  const lists = { retryableExceptions: retryable, nonRetryableExceptions: nonRetryable };
  return createErrorJudge(bindingOf({ retry: retryOf({}, lists) }), logger)(error);
};

describe('createErrorJudge', () => {
  it("returns 'retryable' if there are no exception lists", () => {
    expect(judge(new Error('unknown'))).toBe('retryable');
  });

  it.each([
    new DeserializationException('no JSON'),
    new PayloadValidationException('no id', ['id']),
    new UnknownEventTypeException('what is this'),
  ])(
    "returns 'permanent' for a bad message, whatever the exception lists contain: $name",
    (error) => {
      expect(judge(error, { retryable: [Error] })).toBe('permanent');
    },
  );

  it("returns 'refused' if a guard refused the record, which the circuit breaker does not count", () => {
    expect(judge(new HandlerRefusedException('no'))).toBe('refused');
  });

  it.each<[string, ErrorMatcher[], ErrorMatcher[], ErrorJudgement]>([
    ['in nonRetryableExceptions', [], [Timeout], 'permanent'],
    ['a superclass in nonRetryableExceptions', [], [DatabaseError], 'permanent'],
    ['not in nonRetryableExceptions', [], [TypeError], 'retryable'],
    ['in retryableExceptions', [Timeout], [], 'retryable'],
    ['not in retryableExceptions', [TypeError], [], 'not-retried'],
    ['"nothing but timeouts"', [Timeout], [DatabaseError], 'retryable'],
    ['"all but timeouts"', [DatabaseError], [Timeout], 'permanent'],
    ['closest by a function', [{ matches: () => true }], [Timeout], 'retryable'],
    ['equally close in both', [{ matches: () => true }], [{ matches: () => true }], 'permanent'],
  ])(
    'follows retryableExceptions and nonRetryableExceptions: %s',
    (_case, retryable, nonRetryable, judgement) => {
      expect(judge(new Timeout(), { retryable, nonRetryable })).toBe(judgement);
    },
  );

  const unique = Object.assign(new Error('duplicate'), { code: '23505' });
  const unauthorised = Object.assign(new Error('expired'), { status: 401 });
  const refused = Object.assign(new Error('down'), { code: 'ECONNREFUSED' });
  class Declined extends NonRetryableException {}
  class Locked extends RetryableException {}

  it.each<[string, Error, ErrorMatcher[], ErrorMatcher[], ErrorJudgement]>([
    ['a bad message, according to the fault rules', unique, [], [], 'permanent'],
    ['a bad message in the cause', new Error('failed', { cause: unique }), [], [], 'permanent'],
    [
      'a bad message whose code is in retryableExceptions',
      unique,
      [{ code: '23505' }],
      [],
      'retryable',
    ],
    [
      'a bad message in the cause whose code is in retryableExceptions',
      new Error('x', { cause: unique }),
      [{ code: '23505' }],
      [],
      'retryable',
    ],
    ['a status that is in retryableExceptions', unauthorised, [{ status: 401 }], [], 'retryable'],
    ['a bad message that is not in retryableExceptions', unique, [TypeError], [], 'permanent'],
    ['a dependency that is down', refused, [], [], 'retryable'],
    ['a dependency that is not in retryableExceptions', refused, [TypeError], [], 'not-retried'],
    [
      'a dependency whose code is in nonRetryableExceptions',
      refused,
      [],
      [{ code: 'ECONNREFUSED' }],
      'permanent',
    ],
    ['NonRetryableException', new Declined('no'), [], [], 'permanent'],
    [
      'NonRetryableException with Error in retryableExceptions',
      new Declined('no'),
      [Error],
      [],
      'permanent',
    ],
    [
      'NonRetryableException with its own class in retryableExceptions',
      new Declined('no'),
      [Declined],
      [],
      'retryable',
    ],
    [
      'RetryableException that is not in retryableExceptions',
      new Locked('later'),
      [TypeError],
      [],
      'retryable',
    ],
    [
      'RetryableException with Error in nonRetryableExceptions',
      new Locked('later'),
      [],
      [Error],
      'retryable',
    ],
    [
      'RetryableException with a bad message as its cause',
      new Locked('later', { cause: unique }),
      [],
      [],
      'retryable',
    ],
    [
      'RetryableException with its own class in nonRetryableExceptions',
      new Locked('later'),
      [],
      [Locked],
      'permanent',
    ],
  ])(
    'follows the closest match of the exception lists, and otherwise the fault of the error: %s',
    (_case, error, retryable, nonRetryable, judgement) => {
      expect(judge(error, { retryable, nonRetryable })).toBe(judgement);
    },
  );

  it('classifies an error that throws when it is inspected', () => {
    const { proxy, revoke } = Proxy.revocable(new Error('x'), {});
    revoke();
    expect(judge(proxy)).toBe('retryable');
  });

  it('classifies the cause of a BatchProcessingException', () => {
    const wrapped = new BatchProcessingException(1, 'second', [], { cause: new Timeout() });
    expect(judge(wrapped, { nonRetryable: [Timeout] })).toBe('permanent');
    expect(judge(new BatchProcessingException(1, 'second'))).toBe('retryable');
  });

  it('ignores a matcher that throws, and logs its error', () => {
    const logger = recordingLogger();
    const broken: ErrorMatcher = {
      matches: () => {
        throw new TypeError('broken');
      },
    };
    expect(judge(new Timeout(), { nonRetryable: [broken], logger })).toBe('retryable');
    expect(logger.lines).toMatchObject([{ level: 'error', context: { binding: 'orders' } }]);
    // The other matchers of the list are still evaluated.
    expect(judge(new Timeout(), { nonRetryable: [broken, DatabaseError] })).toBe('permanent');
  });
});
