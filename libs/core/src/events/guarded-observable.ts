import {
  Observable,
  type Observer,
  type Operator,
  type Subscriber,
  type Subscription,
  type TeardownLogic,
} from 'rxjs';

type Next<T> = (value: T) => unknown;

/**
 * An observable whose subscribers may throw. Ordinarily rxjs throws their errors again in a timer,
 * which stops the whole process.
 */
export class GuardedObservable<T> extends Observable<T> {
  constructor(
    private readonly report: (error: unknown) => void,
    open?: (subscriber: Subscriber<T>) => TeardownLogic,
  ) {
    super(open);
  }

  /** Makes the results of operators guarded, too. */
  override lift<R>(operator?: Operator<T, R>): Observable<R> {
    const lifted = new GuardedObservable<R>(this.report);
    lifted.source = this;
    lifted.operator = operator;
    return lifted;
  }

  override subscribe(
    observerOrNext?: Partial<Observer<T>> | Next<T> | null,
    error?: ((error: unknown) => void) | null,
    complete?: (() => void) | null,
  ): Subscription {
    // Operators pass a subscriber, whose errors reach the last subscriber of the chain.
    if (isSubscriber(observerOrNext)) return super.subscribe(observerOrNext);
    const given =
      typeof observerOrNext === 'object' && observerOrNext !== null
        ? observerOrNext
        : { next: observerOrNext, error, complete };
    return super.subscribe({
      next: (value) => this.#call(() => given.next?.(value)),
      error: (cause) => (given.error ? this.#call(() => given.error?.(cause)) : this.report(cause)),
      complete: () => this.#call(() => given.complete?.()),
    });
  }

  #call(callback: () => unknown): void {
    try {
      const answer = callback();
      // The promise of an async function is ignored by rxjs, and its rejection would be unhandled.
      if (answer instanceof Promise) answer.catch(this.report);
    } catch (error) {
      this.report(error);
    }
  }
}

function isSubscriber<T>(given: unknown): given is Subscriber<T> {
  const { next, unsubscribe } = (given ?? {}) as Partial<Subscriber<T>>;
  return typeof next === 'function' && typeof unsubscribe === 'function';
}
