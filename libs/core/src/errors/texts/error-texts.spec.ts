import { inspect } from 'node:util';
import { ConnectionError, errorReasonOf, markMessage } from '@nest-event-bus/broker';
import { IdempotencyStoreException } from '../idempotency-errors.js';
import { DeadLetterRequestedException } from '../handler-errors.js';
import { NonRetryableException } from '../retry-errors.js';
import { errorContext } from './error-context.js';

const SECRET = 'jane@example.org';

describe('errorReasonOf()', () => {
  it.each([
    ['the bus', new IdempotencyStoreException('It did not answer.')],
    ['a driver', new ConnectionError('It did not answer.')],
    ['a class of the platform', markMessage(new TypeError('It did not answer.'), 'own')],
  ])('says the message of an error of %s', (_, error) => {
    expect(errorReasonOf(error)).toBe('It did not answer.');
  });

  it.each([
    ['another library', new TypeError(SECRET), 'TypeError'],
    ['a handler', new NonRetryableException(SECRET), 'NonRetryableException NON_RETRYABLE'],
    [
      'a handler that gave the record up',
      new DeadLetterRequestedException(SECRET),
      'DeadLetterRequestedException DEAD_LETTER_REQUESTED',
    ],
    ['a text', SECRET, 'String'],
  ])('says only the name and the code of an error of %s', (_, thrown, expected) => {
    expect(errorReasonOf(thrown)).toBe(expected);
  });
});

describe('errorContext()', () => {
  const error = new TypeError(`no customer ${SECRET}`);

  it('has the class, the message and the stack of an error', () => {
    expect(errorContext(error, { exceptionDetail: 'full' })).toEqual({
      error: 'TypeError',
      message: error.message,
      stack: error.stack,
    });
  });

  it("has only the class with exceptionDetail 'class', also of a thrown text", () => {
    const options = { exceptionDetail: 'class' } as const;
    expect(errorContext(error, options)).toEqual({ error: 'TypeError' });
    expect(errorContext(SECRET, options)).toEqual({ error: 'Error' });
  });

  it('has what redact leaves', () => {
    const redact = ({ message }: Error) => ({ message: message.replace(SECRET, '***') });
    expect(errorContext(error, { exceptionDetail: 'full', redact })).toEqual({
      error: 'TypeError',
      message: 'no customer ***',
    });
  });
});

describe('The cause of an exception of the bus', () => {
  it('is readable, but not printed, if the application has thrown it', () => {
    for (const cause of [new Error(SECRET), new NonRetryableException(SECRET), { SECRET }]) {
      const error = new IdempotencyStoreException('It did not answer.', { cause });
      expect(error.cause).toBe(cause);
      expect(inspect(error)).not.toContain(SECRET);
    }
  });

  it('is printed if a driver has thrown it', () => {
    const cause = new ConnectionError('The broker is gone.');
    const error = new IdempotencyStoreException('It did not answer.', { cause });
    expect(inspect(error)).toContain('The broker is gone.');
  });
});
