import { Catch, HttpException, type ArgumentsHost } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import { EventBusException } from '../errors/event-bus-exception.js';
import { HTTP_STATUS } from '../errors/http-status.js';

// The linter takes `catch` of an exception filter for that of a promise.
/* oxlint-disable promise/valid-params */

/**
 * Answers an HTTP request whose command to the event bus was refused: 400, 404, 409, 422, 503 or 504 with the
 * code and the message. For controllers that command bindings: `@UseFilters(EventBusExceptionFilter)`.
 */
@Catch(EventBusException)
export class EventBusExceptionFilter extends BaseExceptionFilter<EventBusException> {
  override catch(exception: EventBusException, host: ArgumentsHost): void {
    // Other transports have no response to write to, and filters of their own.
    if (host.getType() !== 'http') throw exception;
    const status = HTTP_STATUS[exception.code];
    if (status === undefined) {
      super.catch(exception, host);
      return;
    }
    const { code, message } = exception;
    const body = { statusCode: status, code, message };
    super.catch(new HttpException(body, status, { cause: exception }) as never, host);
  }
}
