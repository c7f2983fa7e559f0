import {
  Catch,
  HttpException,
  HttpStatus,
  Inject,
  Injectable,
  Logger,
  type ArgumentsHost,
  type ExceptionFilter,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { BrokerError, errorReasonOf } from '@nest-event-bus/broker';
import { InvalidAdminRequestException } from '../../errors/admin-errors.js';
import { ConfigurationValidationException } from '../../errors/configuration-validation-exception.js';
import { EventBusException } from '../../errors/event-bus-exception.js';
import { HTTP_STATUS } from '../../errors/http-status.js';
import { defectContext } from '../../errors/texts/defect-context.js';
import type { AdminProblem } from '../api/schemas/common-schemas.js';

/** Answers with problem details (RFC 9457), whatever a guard or a route has thrown. */
@Injectable()
@Catch()
export class AdminExceptionFilter implements ExceptionFilter {
  readonly #logger = new Logger('EventBusAdmin');

  constructor(@Inject(HttpAdapterHost) private readonly adapter: HttpAdapterHost) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const { httpAdapter } = this.adapter;
    const response: unknown = host.switchToHttp().getResponse();
    const answer = problemOf(error);
    if (answer.status === 500)
      this.#logger.error({
        message: 'A request to the admin API has failed',
        ...defectContext(error),
      });
    if (httpAdapter.isHeadersSent(response)) return;
    httpAdapter.setHeader(response, 'Content-Type', 'application/problem+json');
    httpAdapter.reply(response, JSON.stringify(answer), answer.status);
  }
}

function problemOf(error: unknown): AdminProblem {
  if (error instanceof HttpException) return problem(error.getStatus(), error.message);
  if (error instanceof BrokerError) return problem(503, error.message, error.code);
  const status = error instanceof EventBusException ? HTTP_STATUS[error.code] : undefined;
  if (!(error instanceof EventBusException) || status === undefined)
    return problem(500, 'The log of the application says more.');
  return { ...problem(status, errorReasonOf(error), error.code), ...errorsOf(error) };
}

/** An unknown error may quote a payload, so its message is not told. */
function problem(status: number, detail: string, code = codeOf(status)): AdminProblem {
  const words = codeOf(status).toLowerCase().replaceAll('_', ' ');
  const title = `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`;
  return { type: 'about:blank', title, status, code, detail };
}

const codeOf = (status: number): string => HttpStatus[status] ?? `HTTP_${status}`;

function errorsOf(error: EventBusException): Pick<AdminProblem, 'errors'> {
  if (error instanceof InvalidAdminRequestException) return { errors: error.complaints };
  if (error instanceof ConfigurationValidationException)
    return { errors: error.violations.map(({ path, message }) => ({ path, message })) };
  return {};
}
