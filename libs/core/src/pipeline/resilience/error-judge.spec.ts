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
  it('allows a retry if there are no exception lists', () => {
    expect(judge(new Error('unknown'))).toBe('retryable');
  });

  it.each([
    new DeserializationException('no JSON'),
    new PayloadValidationException('no id', ['id']),
    new UnknownEventTypeException('what is this'),
  ])('judges a bad message as permanent, whatever the lists say: $name', (error) => {
    expect(judge(error, { retryable: [Error] })).toBe('permanent');
  });

  it('judges the refusal of a guard as refused, which the circuit does not count', () => {
    expect(judge(new HandlerRefusedException('no'))).toBe('refused');
  });

  it.each<[string, ErrorMatcher[], ErrorMatcher[], ErrorJudgement]>([
    ['on the blacklist', [], [Timeout], 'permanent'],
    ['by a class above it', [], [DatabaseError], 'permanent'],
    ['not on it', [], [TypeError], 'retryable'],
    ['on the whitelist', [Timeout], [], 'retryable'],
    ['outside the whitelist', [TypeError], [], 'not-retried'],
    ['"nothing but timeouts"', [Timeout], [DatabaseError], 'retryable'],
    ['"all but timeouts"', [DatabaseError], [Timeout], 'permanent'],
    ['closest by a function', [{ matches: () => true }], [Timeout], 'retryable'],
    ['equally close in both', [{ matches: () => true }], [{ matches: () => true }], 'permanent'],
  ])('follows the exception lists: %s', (_case, retryable, nonRetryable, judgement) => {
    expect(judge(new Timeout(), { retryable, nonRetryable })).toBe(judgement);
  });

  const unique = Object.assign(new Error('duplicate'), { code: '23505' });
  const unauthorised = Object.assign(new Error('expired'), { status: 401 });
  const refused = Object.assign(new Error('down'), { code: 'ECONNREFUSED' });
  class Declined extends NonRetryableException {}
  class Locked extends RetryableException {}

  it.each<[string, Error, ErrorMatcher[], ErrorMatcher[], ErrorJudgement]>([
    ['a bad message by the rules', unique, [], [], 'permanent'],
    ['in the cause', new Error('failed', { cause: unique }), [], [], 'permanent'],
    ['but retryable by the user’s word', unique, [{ code: '23505' }], [], 'retryable'],
    [
      'by a word about its cause',
      new Error('x', { cause: unique }),
      [{ code: '23505' }],
      [],
      'retryable',
    ],
    ['by a word about its status', unauthorised, [{ status: 401 }], [], 'retryable'],
    ['and outside a whitelist', unique, [TypeError], [], 'permanent'],
    ['a dependency that is down', refused, [], [], 'retryable'],
    ['outside a whitelist', refused, [TypeError], [], 'not-retried'],
    ['not retryable by the user’s word', refused, [], [{ code: 'ECONNREFUSED' }], 'permanent'],
    ['NonRetryableException', new Declined('no'), [], [], 'permanent'],
    ['although all errors are retryable', new Declined('no'), [Error], [], 'permanent'],
    ['but for the closer word', new Declined('no'), [Declined], [], 'retryable'],
    ['RetryableException outside a whitelist', new Locked('later'), [TypeError], [], 'retryable'],
    ['although all errors are not', new Locked('later'), [], [Error], 'retryable'],
    ['around a bad message', new Locked('later', { cause: unique }), [], [], 'retryable'],
    ['but for the closer word against it', new Locked('later'), [], [Locked], 'permanent'],
  ])(
    'uses the kind of the error if no list matches: %s',
    (_case, error, retryable, nonRetryable, judgement) => {
      expect(judge(error, { retryable, nonRetryable })).toBe(judgement);
    },
  );

  it('judges an error that throws when it is inspected', () => {
    const { proxy, revoke } = Proxy.revocable(new Error('x'), {});
    revoke();
    expect(judge(proxy)).toBe('retryable');
  });

  it('judges the cause of a BatchProcessingException', () => {
    const wrapped = new BatchProcessingException(1, 'second', [], { cause: new Timeout() });
    expect(judge(wrapped, { nonRetryable: [Timeout] })).toBe('permanent');
    expect(judge(new BatchProcessingException(1, 'second'))).toBe('retryable');
  });

  it('ignores a matcher that throws, and logs that', () => {
    const logger = recordingLogger();
    const broken: ErrorMatcher = {
      matches: () => {
        throw new TypeError('broken');
      },
    };
    expect(judge(new Timeout(), { nonRetryable: [broken], logger })).toBe('retryable');
    expect(logger.lines).toMatchObject([{ level: 'error', context: { binding: 'orders' } }]);
    // The other matchers of the list still count.
    expect(judge(new Timeout(), { nonRetryable: [broken, DatabaseError] })).toBe('permanent');
  });
});
