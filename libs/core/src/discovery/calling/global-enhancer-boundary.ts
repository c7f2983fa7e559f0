import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { defer, tap, type Observable } from 'rxjs';
import { HandlerRefusedException } from '../../errors/handler-errors.js';
import type { HandlerArguments } from './parameter-value.js';

/** Result of the handler's own part: its interceptors, its pipes and its method. */
type HandlerResult =
  | { readonly kind: 'started' }
  | { readonly kind: 'returned'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly error: unknown };

/**
 * An interceptor between the global interceptors and the handler's own part.
 *
 * Global interceptors are written for requests: some turn errors into responses, some wrap the returned
 * value, some answer from a cache. Each of these would turn a failed or unhandled record into a success.
 * So the result of the handler counts; a global interceptor can only make a record fail.
 */
export class GlobalEnhancerBoundary implements NestInterceptor {
  /** Results by the first argument of the call, which is unique to the call. */
  readonly #results = new WeakMap<object, HandlerResult>();

  constructor(private readonly origin: string) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const subject = context.getArgByIndex<object>(0);
    const setResult = (result: HandlerResult): void => void this.#results.set(subject, result);
    return defer(() => {
      setResult({ kind: 'started' });
      return next.handle();
    }).pipe(
      tap({
        next: (value: unknown) => setResult({ kind: 'returned', value }),
        error: (error: unknown) => setResult({ kind: 'failed', error }),
      }),
    );
  }

  /**
   * Runs the call and returns the handler's own result, regardless of what global interceptors made
   * of it.
   */
  async around([subject]: HandlerArguments, call: () => unknown): Promise<unknown> {
    try {
      await call();
      return this.#resultOf(this.#results.get(subject));
    } finally {
      this.#results.delete(subject);
    }
  }

  #resultOf(result: HandlerResult | undefined): unknown {
    switch (result?.kind) {
      case 'returned':
        return result.value;
      case 'failed':
        throw result.error;
      case 'started':
      case undefined:
        throw new HandlerRefusedException(
          `A global interceptor answered in place of ${this.origin}, so the record was not handled. Its partition waits; the record is neither committed nor dead-lettered. Let the interceptor ignore calls of type 'eventbus', or call acknowledge() on the EventContext (the second argument) if the record should count as done; or set enhancers: 'local'.`,
        );
    }
  }
}
