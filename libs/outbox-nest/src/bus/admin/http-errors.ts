import { OutboxError } from '@nest-event-bus/outbox';
import { HttpException } from '@nestjs/common';

/** Statuses of errors by their codes. Other errors of the outbox are those of the database. */
const STATUS: Readonly<Record<string, number>> = {
  ILLEGAL_ARGUMENT: 400,
  OUTBOX_EVENT_NOT_FOUND: 404,
  OUTBOX_OPERATION_NOT_FOUND: 404,
  OUTBOX_PLAN_CHANGED: 409,
  OUTBOX_STORE_OPERATION_UNSUPPORTED: 409,
};

type Handler = (...parameters: never[]) => unknown;

/** Makes errors of the outbox answers with a status. The admin API writes their message. */
export function withHttpErrors<H extends object>(handlers: H): H {
  const wrapped = Object.entries(handlers as Readonly<Record<string, Handler>>).map(
    ([operation, handler]) => [
      operation,
      async (...parameters: never[]): Promise<unknown> => {
        try {
          return await handler(...parameters);
        } catch (error) {
          throw error instanceof OutboxError ? httpError(error) : error;
        }
      },
    ],
  );
  return Object.fromEntries(wrapped) as H;
}

const httpError = (error: OutboxError): HttpException =>
  new HttpException(error.message, STATUS[error.code] ?? 503, { cause: error });
