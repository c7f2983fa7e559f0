import {
  AuthenticationError,
  AuthorizationError,
  ClosedError,
  ConnectionError,
  RecordTooLargeError,
  RequestTimeoutError,
} from '@nest-event-bus/broker';
import {
  BadGatewayException,
  BadRequestException,
  ForbiddenException,
  GatewayTimeoutException,
  GoneException,
  HttpException,
  RequestTimeoutException,
  ServiceUnavailableException,
  UnauthorizedException,
  UnprocessableEntityException,
} from '@nestjs/common';
import { BrokenCircuitError } from 'cockatiel';
import { z } from 'zod';
import { CircuitBreakerOpenException } from '../../errors/circuit-errors.js';
import {
  DeadLetterRequestedException,
  DeserializationException,
  HandlerRefusedException,
  PayloadValidationException,
  UnknownEventTypeException,
} from '../../errors/handler-errors.js';
import {
  IdempotencyKeyException,
  IdempotencyStoreException,
} from '../../errors/idempotency-errors.js';
import { EventPublishException } from '../../errors/publish-errors.js';
import { ErrorResultException, RetryableResultException } from '../../errors/result-errors.js';
import {
  IllegalArgumentError,
  NonRetryableException,
  RetryableException,
} from '../../errors/retry-errors.js';
import { SchemaRegistryUnavailableException } from '../../errors/schema-registry-errors.js';
import type { FaultCase, FaultTable } from './fault-case.spec-support.js';
import { axios, coded, fetchFailed, named, pg, system } from './recorded-errors.spec-support.js';

class OrderLocked extends RetryableException {}
class OrderIsWrong extends NonRetryableException {}
export const HANDLER_AND_NETWORK: FaultTable = {
  'the message cannot be read, is not valid or has a type without a handler': [
    'message',
    [
      ['no JSON', new DeserializationException('no JSON', { cause: system('ECONNRESET') })],
      ['a field is missing', new PayloadValidationException('no id', ['id'])],
      ['nobody handles it', new UnknownEventTypeException('what is this')],
    ],
  ],
  'the handler gives the record up, or says that no further call can help': [
    'message',
    [
      ['ctx.deadLetter()', new DeadLetterRequestedException('the customer is gone')],
      ['NonRetryableException', new NonRetryableException('no', { cause: system('ETIMEDOUT') })],
      ['one that extends it', new OrderIsWrong('no')],
      ['IllegalArgumentError', new IllegalArgumentError('a negative price')],
      ['an ErrorResult', new ErrorResultException('no')],
    ],
  ],
  'the handler says that another call may help': [
    'unknown',
    [
      ['RetryableException', new RetryableException('later')],
      ['one that extends it', new OrderLocked('locked')],
      ['a RetryableResult', new RetryableResultException('later')],
      ['in spite of its cause', new RetryableException('later', { cause: pg('23505') })],
    ],
  ],
  'a circuit is open': [
    'dependency',
    [
      ['that of the binding', new CircuitBreakerOpenException('orders')],
      ["cockatiel's", new BrokenCircuitError()],
      ["opossum's", coded('EOPENBREAKER')],
    ],
  ],
  'a guard refused the record': [
    'dependency',
    [['with an HTTP 403', new HandlerRefusedException('no', { cause: new ForbiddenException() })]],
  ],
  'the schema registry or the idempotency store does not answer': [
    'dependency',
    [
      ['the registry', new SchemaRegistryUnavailableException('down')],
      ['the store', new IdempotencyStoreException('down')],
    ],
  ],
  'the record has no key that identifies a second delivery': [
    'message',
    [['no key', new IdempotencyKeyException('no header')]],
  ],
  'an event is too large to be published': [
    'message',
    [['by EventPublisher', publishFailed(new RecordTooLargeError('2 MB'))]],
  ],
  'Kafka cannot be reached, or refuses for now': [
    'dependency',
    [
      ['no broker', publishFailed(new ConnectionError('gone'))],
      ['no answer', new RequestTimeoutError('late')],
    ],
  ],
  'Kafka refuses the application, or was closed': [
    'dependency',
    [
      ['the login', new AuthenticationError('no')],
      ['the topic', new AuthorizationError('no')],
      ['at shutdown', new ClosedError('closed')],
    ],
  ],
  'class-validator refuses the data': [
    'message',
    [
      ['a list, which it rejects with', [{ property: 'id', constraints: { isInt: 'no' } }]],
      ['one of a nested object', { property: 'id', children: [{}] }],
      [
        'a list that somebody wrapped',
        new Error('refused', { cause: [{ property: 'id', children: [] }] }),
      ],
    ],
  ],
  'a schema refuses the data': [
    'message',
    [
      ['zod', z.object({ id: z.number() }).safeParse({}).error],
      ['valibot', named('ValiError', { issues: [{ message: 'no id', path: [] }] })],
    ],
  ],
  'a validator refuses the data': [
    'message',
    [
      ['Mongoose', named('ValidationError', { errors: { id: {} } })],
      ['Joi', named('ValidationError', { isJoi: true, details: [] })],
      ['a value of another type', named('CastError')],
    ],
  ],
  'HTTP 503: the service is not available': [
    'dependency',
    [
      ['Nest', new ServiceUnavailableException()],
      ['axios', axios(503)],
    ],
  ],
  'HTTP 408, 425, 429, 502, 504: too busy, too early or out of reach': [
    'dependency',
    [
      ['408 of Nest', new RequestTimeoutException()],
      ['425 of http-errors', named('TooEarlyError', { statusCode: 425 })],
      ['429 of Nest', new HttpException('slow down', 429)],
      ['429 of axios', axios(429)],
      ['502 of Nest', new BadGatewayException()],
      ['504 of Nest', new GatewayTimeoutException()],
      ['504 of got', named('HTTPError', { response: { statusCode: 504 } })],
      ['504 that is only told when asked', named('Odd', { getStatus: () => 504 })],
    ],
  ],
  'HTTP 400, 401, 403, 405, 406, 410, 413, 414, 415, 422: this request is never accepted': [
    'message',
    [
      ['400 of Nest', new BadRequestException()],
      ['400 of axios', axios(400)],
      ['401 of Nest', new UnauthorizedException()],
      ['403 of Nest', new ForbiddenException()],
      ['410 of Nest', new GoneException()],
      ['422 of Nest', new UnprocessableEntityException()],
      ['422 of axios', axios(422)],
    ],
  ],
  'the network failed': [
    'dependency',
    [
      ...['ETIMEDOUT', 'ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'EHOSTUNREACH'].map(
        (code): FaultCase => [code, system(code)],
      ),
      ['ENOTFOUND', coded('ENOTFOUND')],
      ['EAI_AGAIN', coded('EAI_AGAIN')],
      ['axios without a network', coded('ERR_NETWORK')],
      ['axios that waited too long', coded('ECONNABORTED')],
      ['fetch, in its cause', fetchFailed(system('ECONNREFUSED'))],
      ['several addresses, of which none answers', refusedByAll('ECONNREFUSED')],
      ['the same without a code', fetchFailed(refusedByAll())],
    ],
  ],
  'undici lost its connection, or timed out': [
    'dependency',
    [
      ['while it connected', fetchFailed(coded('UND_ERR_CONNECT_TIMEOUT'))],
      ['while it waited', fetchFailed(coded('UND_ERR_HEADERS_TIMEOUT'))],
      ['while it read', fetchFailed(coded('UND_ERR_SOCKET'), 'terminated')],
    ],
  ],
  'the certificate of the server is not accepted': [
    'dependency',
    [
      ['expired', fetchFailed(coded('CERT_HAS_EXPIRED'))],
      ['expired, by code', coded('CERT_HAS_EXPIRED')],
      ['not valid yet', coded('CERT_NOT_YET_VALID')],
    ],
  ],
  'this process or its machine has run out of a resource': [
    'dependency',
    [
      ['files', coded('EMFILE')],
      ['the disk', coded('ENOSPC')],
    ],
  ],
  'a timeout': [
    'dependency',
    [
      ['AbortSignal.timeout()', new DOMException('late', 'TimeoutError')],
      ['a class of that name', new (class TimeoutError extends Error {})()],
    ],
  ],
};
function publishFailed(cause: unknown): Error {
  return new EventPublishException('not published', { cause });
}

function refusedByAll(code?: string): Error {
  const error = new AggregateError([system('ECONNREFUSED'), system('EHOSTUNREACH')]);
  return code === undefined ? error : Object.assign(error, { code });
}
