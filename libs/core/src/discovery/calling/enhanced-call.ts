import { errorNameOf } from '@nest-event-bus/broker';
import { ForbiddenException, HttpException } from '@nestjs/common';
import { HandlerRefusedException } from '../../errors/handler-errors.js';
import type { EventContext } from '../../model/records/event-context.js';
import { argumentsHost } from './arguments-host.js';
import type { EnhancedInstance, Guard, NestContexts } from './nest-contexts.js';
import type { HandlerArguments } from './parameter-value.js';

/**
 * Status codes that count as a refusal, because many guards throw such an error instead of
 * returning false.
 */
const REFUSALS: ReadonlySet<number> = new Set([401, 403]);

/** Calls a handler with Nest's guards, interceptors, pipes and filters. */
export class EnhancedCall {
  readonly #guards: ReturnType<NestContexts['guards']>;
  readonly #call: (args: HandlerArguments) => unknown;
  readonly #filter: ReturnType<NestContexts['filter']>;

  constructor(
    contexts: NestContexts,
    of: EnhancedInstance,
    private readonly origin: string,
  ) {
    this.#guards = contexts.guards(of);
    this.#call = contexts.call(of);
    this.#filter = contexts.filter(of);
  }

  async invoke(args: HandlerArguments): Promise<unknown> {
    await this.#checkGuards(args);
    try {
      return await this.#call(args);
    } catch (error) {
      await this.#runFilters(error, args);
      throw error;
    }
  }

  /**
   * Treats any error of a global guard as a refusal, because global guards are written for HTTP
   * requests and may throw for a record. An error of the handler's own guard counts as a failure of
   * the handler.
   */
  async #checkGuards(args: HandlerArguments): Promise<void> {
    await this.#checkGuard(this.#guards.global, args, () => true);
    await this.#checkGuard(this.#guards.own, args, isRefusal);
  }

  async #checkGuard(
    guard: Guard,
    args: HandlerArguments,
    refuses: (error: unknown) => boolean,
  ): Promise<void> {
    try {
      if (!(await guard(args))) throw new ForbiddenException();
    } catch (error) {
      await this.#runFilters(error, args);
      throw refuses(error) ? this.#refused(error) : error;
    }
  }

  /**
   * Passes the error to the exception filters. They can only observe it: the record has failed,
   * whatever a filter returns or throws.
   */
  async #runFilters(error: unknown, args: HandlerArguments): Promise<void> {
    try {
      await this.#filter(error, argumentsHost(args));
    } catch (thrown) {
      if (thrown !== error) this.#reportFilter(thrown, args);
    }
  }

  #reportFilter(thrown: unknown, [, contexts]: HandlerArguments): void {
    const [context] = Array.isArray(contexts) ? contexts : [contexts as EventContext];
    context?.log.warn(
      `An exception filter of ${this.origin} threw ${errorNameOf(thrown)}. Filters only observe: the record fails with its own error.`,
    );
  }

  #refused(cause: unknown): HandlerRefusedException {
    return new HandlerRefusedException(
      `A guard of ${this.origin} refused the record. Its partition waits until the guard lets it pass; the record is not dead-lettered.`,
      { cause },
    );
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof HttpException && REFUSALS.has(error.getStatus());
}
