import {
  ConsumerResult,
  ErrorResult,
  RetryableResult,
  SuccessResult,
} from '../model/outcomes/consumer-result.js';
import { ErrorResultException, RetryableResultException, throwIfFailed } from './result-errors.js';
import { NonRetryableException, RetryableException } from './retry-errors.js';

const thrownBy = (result: unknown): unknown => {
  try {
    throwIfFailed(result);
    return undefined;
  } catch (error) {
    return error;
  }
};

describe('throwIfFailed()', () => {
  it('throws a failure result, with its reason and its cause', () => {
    const cause = new Error('locked');
    const retryable = thrownBy(new RetryableResult('the order is locked', { cause }));
    expect(retryable).toBeInstanceOf(RetryableResultException);
    expect(retryable).toBeInstanceOf(RetryableException);
    expect(retryable).toMatchObject({
      name: 'RetryableResultException',
      message: 'the order is locked',
      code: 'RETRYABLE_RESULT',
      retriable: true,
      cause,
    });
    const error = thrownBy(new ErrorResult('no such customer'));
    expect(error).toBeInstanceOf(ErrorResultException);
    expect(error).toBeInstanceOf(NonRetryableException);
    expect(error).toMatchObject({
      message: 'no such customer',
      code: 'ERROR_RESULT',
      retriable: false,
    });
    expect(Object.hasOwn(error as Error, 'cause')).toBe(false);
  });

  it('accepts results from the factory', () => {
    expect(ConsumerResult.success()).toBeInstanceOf(SuccessResult);
    expect(ConsumerResult.retryable('later', { cause: 1 })).toEqual(
      new RetryableResult('later', { cause: 1 }),
    );
    expect(ConsumerResult.error('no')).toEqual(new ErrorResult('no'));
  });

  it('accepts a missing reason', () => {
    const result = new RetryableResult(undefined as never);
    expect((thrownBy(result) as Error).message).toBe(
      "The handler returned a result of kind 'retryable' without a reason.",
    );
  });

  it('accepts a result of another copy of the library', () => {
    const brand = Symbol.for('nest-event-bus:consumer-result');
    expect(thrownBy({ [brand]: true, kind: 'error', reason: 'no' })).toBeInstanceOf(
      ErrorResultException,
    );
  });

  const revoked = () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  };

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['success', new SuccessResult()],
    ['null', null],
    ['a text', 'error'],
    ['an object of the application that looks alike', { kind: 'error', reason: 'no' }],
    ['something that does not want to be looked at', revoked()],
  ])('ignores %s', (_, result) => {
    expect(thrownBy(result)).toBeUndefined();
  });
});
