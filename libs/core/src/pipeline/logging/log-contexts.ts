import type { MdcContextPropagator } from '../../logging/mdc-context-propagator.js';
import type { RecordLogContext } from '../../logging/record-log-context.js';
import { CallLogContext, type LoggedCall, type LoggedContainer } from './call-log-context.js';

/**
 * Creates the log contexts of the records of one container, and runs work in them. Runs the work
 * without a context as long as no logger reads it.
 */
export class LogContexts {
  constructor(
    private readonly propagator: Pick<MdcContextPropagator, 'isRead' | 'run'>,
    private readonly container: LoggedContainer,
  ) {}

  ofCall(call: LoggedCall): CallLogContext {
    return new CallLogContext(this.container, call);
  }

  /** Calls the function in the context of one record, and returns its result. */
  runCall<A extends unknown[], R>(call: LoggedCall, work: (...args: A) => R, ...args: A): R {
    if (!this.propagator.isRead) return work(...args);
    return this.propagator.run(new CallLogContext(this.container, call), work, ...args);
  }

  /** Calls the function in the context of several records, and returns its result. */
  runSlice<A extends unknown[], R>(
    slice: readonly LoggedCall[],
    work: (...args: A) => R,
    ...args: A
  ): R {
    const [first] = slice;
    if (!first || !this.propagator.isRead) return work(...args);
    return this.propagator.run(new CallLogContext(this.container, first, slice), work, ...args);
  }

  run<R>(context: RecordLogContext, work: () => R): R {
    return this.propagator.isRead ? this.propagator.run(context, work) : work();
  }
}
