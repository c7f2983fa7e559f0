import {
  errorReasonOf,
  type BrokerRecord,
  type DriverLogger,
  type OffsetCommit,
  type OutgoingRecord,
} from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type {
  EventBusTracer,
  ProcessTrace,
  SendTrace,
  TracedContainer,
} from '../../model/extension-points/event-bus-tracer.js';
import { OngoingProblems } from '../../problems/ongoing-problems.js';

/** Calls a tracer of the application. Its errors are logged, and change nothing for records. */
export class GuardedTracer implements EventBusTracer {
  readonly #problems: OngoingProblems;

  constructor(
    private readonly tracer: EventBusTracer,
    runtime: Pick<Runtime, 'monotonic' | 'setTimer'>,
    logger: DriverLogger,
  ) {
    this.#problems = new OngoingProblems(runtime, logger);
  }

  process(of: TracedContainer, records: readonly BrokerRecord[]): ProcessTrace | undefined {
    const trace = this.#try('process', () => this.tracer.process(of, records));
    return (
      trace && {
        run: (work) => this.#run(trace, work),
        end: (outcomes) => this.#try('end', () => trace.end(outcomes)),
      }
    );
  }

  send(topic: string, records: readonly OutgoingRecord[]): SendTrace | undefined {
    const trace = this.#try('send', () => this.tracer.send(topic, records));
    return (
      trace && {
        records: trace.records,
        end: (error) => this.#try('end', () => trace.end(error)),
      }
    );
  }

  polled(of: TracedContainer, records: readonly BrokerRecord[], startedAt: number): void {
    this.#try('polled', () => this.tracer.polled(of, records, startedAt));
  }

  settled(
    of: TracedContainer,
    commits: readonly OffsetCommit[],
    startedAt: number,
    error?: unknown,
  ): void {
    this.#try('settled', () => this.tracer.settled(of, commits, startedAt, error));
  }

  /** Ends the reports about the tracer. */
  close(): void {
    this.#problems.clear();
  }

  /** Does the work exactly once, whatever the tracer does with it. */
  #run<T>(trace: ProcessTrace, work: () => T): T {
    let done: { readonly result: T } | { readonly error: unknown } | undefined;
    const once = (): T => {
      try {
        done ??= { result: work() };
      } catch (error) {
        done = { error };
      }
      return resultOf(done);
    };
    try {
      trace.run(once);
    } catch (error) {
      if (!done || !('error' in done)) this.#report('run', error);
    }
    return done ? resultOf(done) : work();
  }

  #try<T>(method: string, call: () => T): T | undefined {
    try {
      return call();
    } catch (error) {
      this.#report(method, error);
      return undefined;
    }
  }

  #report(method: string, error: unknown): void {
    const reason = errorReasonOf(error);
    this.#problems.report({
      key: method,
      message: `The tracer EVENT_BUS_TRACER failed in '${method}': ${reason}. Records are not affected, their spans are missing. Correct the tracer.`,
      ended: `For a minute, the tracer EVENT_BUS_TRACER had no error in '${method}'.`,
      context: { method, reason },
    });
  }
}

function resultOf<T>(done: { readonly result: T } | { readonly error: unknown }): T {
  if ('error' in done) throw done.error;
  return done.result;
}
