import { Catch, HttpException, HttpStatus, type ArgumentsHost } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import { EventBusException } from '../errors/event-bus-exception.js';

/** Status by the code of the exception. An exception that is not listed stays an internal error. */
const STATUS: Readonly<Record<string, HttpStatus>> = {
  BINDING_NOT_FOUND: HttpStatus.NOT_FOUND,
  TIER_NOT_FOUND: HttpStatus.NOT_FOUND,
  UNKNOWN_CLUSTER: HttpStatus.NOT_FOUND,
  REDRIVE_PLAN_NOT_FOUND: HttpStatus.NOT_FOUND,
  INVALID_DEAD_LETTER_FILTER: HttpStatus.BAD_REQUEST,
  REDRIVE_REFUSED: HttpStatus.CONFLICT,
  AMBIGUOUS_BINDING: HttpStatus.CONFLICT,
  BINDING_ALREADY_EXISTS: HttpStatus.CONFLICT,
  BINDING_NOT_CONSUMED: HttpStatus.CONFLICT,
  INVALID_CONTAINER_STATE: HttpStatus.CONFLICT,
  NO_RECORD_WAITS: HttpStatus.CONFLICT,
  EVENT_BUS_DISABLED: HttpStatus.SERVICE_UNAVAILABLE,
  EVENT_BUS_NOT_READY: HttpStatus.SERVICE_UNAVAILABLE,
  EVENT_BUS_SHUTTING_DOWN: HttpStatus.SERVICE_UNAVAILABLE,
  CONTAINER_UNRESPONSIVE: HttpStatus.GATEWAY_TIMEOUT,
};

// The linter takes `catch` of an exception filter for that of a promise.
/* oxlint-disable promise/valid-params */

/**
 * Answers an HTTP request whose command to the event bus was refused: 400, 404, 409, 503 or 504 with the
 * code and the message. For controllers that command bindings: `@UseFilters(EventBusExceptionFilter)`.
 */
@Catch(EventBusException)
export class EventBusExceptionFilter extends BaseExceptionFilter<EventBusException> {
  override catch(exception: EventBusException, host: ArgumentsHost): void {
    // Other transports have no response to write to, and filters of their own.
    if (host.getType() !== 'http') throw exception;
    const status = STATUS[exception.code];
    if (status === undefined) {
      super.catch(exception, host);
      return;
    }
    const { code, message } = exception;
    const body = { statusCode: status, code, message };
    super.catch(new HttpException(body, status, { cause: exception }) as never, host);
  }
}
