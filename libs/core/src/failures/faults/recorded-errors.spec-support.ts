/**
 * Errors as their libraries throw them, written down from pg 8.23, mysql2 3.24 and ioredis 6.0.
 * test/integration/core/failures/library-errors.spec and database-errors.spec create the real
 * errors.
 */

const errorWith = (message: string, properties: object): Error =>
  Object.assign(new Error(message), properties);

/** pg writes the name in lower case. The class is pg's own. */
class DatabaseError extends Error {
  override readonly name = 'error';
  readonly severity = 'ERROR';

  constructor(readonly code: string) {
    super(`SQLSTATE ${code}`);
  }
}

export const pg = (code: string): Error => new DatabaseError(code);

export const mysql = (code: string, errno: number, sqlState: string): Error =>
  errorWith(`${code} of the server`, { code, errno, sqlState });

/** `errno` is negative, as for errors of the operating system. */
export const system = (code: string, errno = -111): Error =>
  errorWith(`connect ${code} 127.0.0.1:1`, { code, errno, syscall: 'connect' });

export const coded = (code: string | number): Error => errorWith(`code ${code}`, { code });

/** A class whose name is in the property `name` of its errors, as in most libraries. */
export const named = (name: string, properties: object = {}): Error =>
  errorWith(name, { name, ...properties });

class SimpleError extends Error {
  override readonly name = 'ReplyError';
}

export const redisReply = (message: string): Error => new SimpleError(message);

export const fetchFailed = (cause: unknown, message = 'fetch failed'): Error =>
  new TypeError(message, { cause });

/** axios stores the response in the error. Since 1.x the error also has `status`. */
export const axios = (status: number): Error =>
  errorWith(`Request failed with status code ${status}`, {
    name: 'AxiosError',
    code: status < 500 ? 'ERR_BAD_REQUEST' : 'ERR_BAD_RESPONSE',
    response: { status, data: {}, headers: {} },
  });
