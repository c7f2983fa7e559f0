import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { defer, tap, type Observable } from 'rxjs';
import { HandlerRefusedException } from '../../errors/handler-errors.js';
import type { HandlerArguments } from './parameter-value.js';

/** How what belongs to a handler has ended: its own interceptors, its pipes and its method. */
type Ending =
  | { readonly kind: 'begun' }
  | { readonly kind: 'answered'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly error: unknown };

/**
 * Stands between the global interceptors and what belongs to the handler. They are made for
 * requests: one turns errors into answers, one wraps what was returned, one answers from a cache.
 * Any of that would make a success of a record that failed or was never handled. So they may fail a
 * record, and that is all: the handler's own answer counts.
 */
export class GlobalEnhancerBoundary implements NestInterceptor {
  /** By what the call is about, which no other call is. */
  readonly #results = new WeakMap<object, Ending>();

  constructor(private readonly origin: string) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const subject = context.getArgByIndex<object>(0);
    const note = (ending: Ending): void => void this.#results.set(subject, ending);
    return defer(() => {
      note({ kind: 'begun' });
      return next.handle();
    }).pipe(
      tap({
        next: (value: unknown) => note({ kind: 'answered', value }),
        error: (error: unknown) => note({ kind: 'failed', error }),
      }),
    );
  }

  /** The handler's own answer, whatever the global interceptors have made of it. */
  async around([subject]: HandlerArguments, call: () => unknown): Promise<unknown> {
    try {
      await call();
      return this.#answer(this.#results.get(subject));
    } finally {
      this.#results.delete(subject);
    }
  }

  #answer(ending: Ending | undefined): unknown {
    switch (ending?.kind) {
      case 'answered':
        return ending.value;
      case 'failed':
        throw ending.error;
      case 'begun':
      case undefined:
        throw new HandlerRefusedException(
          `A global interceptor answered in the place of ${this.origin}, so nobody has handled the record. Its partition waits; the record is neither done nor dead-lettered. Let the interceptor leave calls of type 'eventbus' alone, or call acknowledge() on the EventContext (the second argument) where the record is to count as done; or set enhancers: 'local'.`,
        );
    }
  }
}
