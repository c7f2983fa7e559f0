import {
  BatchProcessingException,
  DeserializationException,
  HandlerRefusedException,
  PayloadValidationException,
  UnknownEventTypeException,
} from '../../errors/handler-errors.js';
import type { ErrorMatcher } from '../../config/error-matcher.js';
import { bindingOf, recordingLogger, retryOf } from '../pipeline.spec-support.js';
import { errorJudge, type ErrorJudgement } from './error-judgement.js';

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
  return errorJudge(bindingOf({ retry: retryOf({}, lists) }), logger)(error);
};

describe('what an error of a handler means', () => {
  it('without lists: another call may help', () => {
    expect(judge(new Error('unknown'))).toBe('retryable');
  });

  it.each([
    new DeserializationException('no JSON'),
    new PayloadValidationException('no id', ['id']),
    new UnknownEventTypeException('what is this'),
  ])('the message is bad whatever the lists say: $name', (error) => {
    expect(judge(error, { retryable: [Error] })).toBe('permanent');
  });

  it('a guard that refuses is called once, and tells the circuit nothing', () => {
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
  ])('%s', (_case, retryable, nonRetryable, judgement) => {
    expect(judge(new Timeout(), { retryable, nonRetryable })).toBe(judgement);
  });

  it('of a batch: what its place was wrapped around counts', () => {
    const wrapped = new BatchProcessingException(1, 'second', [], { cause: new Timeout() });
    expect(judge(wrapped, { nonRetryable: [Timeout] })).toBe('permanent');
    expect(judge(new BatchProcessingException(1, 'second'))).toBe('retryable');
  });

  it('is not hidden by a matcher that throws, and that is said', () => {
    const logger = recordingLogger();
    const broken: ErrorMatcher = {
      matches: () => {
        throw new TypeError('broken');
      },
    };
    expect(judge(new Timeout(), { nonRetryable: [broken], logger })).toBe('retryable');
    expect(logger.lines).toMatchObject([{ level: 'error', context: { binding: 'orders' } }]);
  });
});
