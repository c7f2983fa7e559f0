import { ForbiddenException, HttpException } from '@nestjs/common';
import { HandlerRefusedException } from '../../errors/handler-errors.js';
import type { EventContext } from '../../model/records/event-context.js';
import { argumentsHost } from './arguments-host.js';
import type { EnhancedInstance, Guard, NestContexts } from './nest-contexts.js';
import type { HandlerArguments } from './parameter-value.js';

/** 401 and 403: what the guards of most applications throw instead of answering false. */
const REFUSALS: ReadonlySet<number> = new Set([401, 403]);

/** A call with everything that Nest has around it. */
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
    await this.#admit(args);
    try {
      return await this.#call(args);
    } catch (error) {
      await this.#observe(error, args);
      throw error;
    }
  }

  /**
   * A global guard knows requests: whatever it throws at a record, it has not let it pass. One of the
   * handler's own may fail as the handler may.
   */
  async #admit(args: HandlerArguments): Promise<void> {
    await this.#pass(this.#guards.global, args, () => true);
    await this.#pass(this.#guards.own, args, isRefusal);
  }

  async #pass(
    guard: Guard,
    args: HandlerArguments,
    refuses: (error: unknown) => boolean,
  ): Promise<void> {
    try {
      if (!(await guard(args))) throw new ForbiddenException();
    } catch (error) {
      await this.#observe(error, args);
      throw refuses(error) ? this.#refused(error) : error;
    }
  }

  /** Filters see the error. What they return or throw changes nothing: the record has failed. */
  async #observe(error: unknown, args: HandlerArguments): Promise<void> {
    try {
      await this.#filter(error, argumentsHost(args));
    } catch (thrown) {
      if (thrown !== error) this.#reportFilter(thrown, args);
    }
  }

  #reportFilter(thrown: unknown, [, contexts]: HandlerArguments): void {
    const [context] = Array.isArray(contexts) ? contexts : [contexts as EventContext];
    const kind = thrown instanceof Error ? thrown.name : typeof thrown;
    context?.log.warn(
      `An exception filter of ${this.origin} threw ${kind}. Filters only observe: the record fails with its own error.`,
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
