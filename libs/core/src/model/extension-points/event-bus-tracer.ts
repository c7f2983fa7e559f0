import type { BrokerRecord, OffsetCommit, OutgoingRecord } from '@nest-event-bus/broker';
import type { Outcome } from '../outcomes/outcome.js';

/** The container whose records are traced. */
export interface TracedContainer {
  readonly binding: string;
  readonly cluster: string;
  readonly topic: string;
  readonly groupId: string;
  readonly tier: number;
  /** Id of the container, which is its client id at the brokers. */
  readonly clientId: string;
}

/** A call of the pipeline that is being traced. */
export interface ProcessTrace {
  /** Calls the function in the context of the span, and returns its result. */
  run<T>(work: () => T): T;
  /** Ends the span. Called exactly once. */
  end(outcomes: readonly Outcome[]): void;
}

/** Records that are being sent. */
export interface SendTrace {
  /** The records, with the headers that continue the trace. */
  readonly records: readonly OutgoingRecord[];
  /** Ends the span. Called exactly once. */
  end(error?: unknown): void;
}

/**
 * Creates the spans of the bus. An error of a method is logged, and changes nothing for records.
 * `undefined` says that nothing is traced.
 */
export interface EventBusTracer {
  /** Traces one record, or a batch that one call of the handler gets. */
  process(of: TracedContainer, records: readonly BrokerRecord[]): ProcessTrace | undefined;
  send(topic: string, records: readonly OutgoingRecord[]): SendTrace | undefined;
  /** Traces a poll that has returned records. `startedAt` is in milliseconds since 1970. */
  polled(of: TracedContainer, records: readonly BrokerRecord[], startedAt: number): void;
  /** Traces a commit request that was answered. */
  settled(
    of: TracedContainer,
    commits: readonly OffsetCommit[],
    startedAt: number,
    error?: unknown,
  ): void;
}

/** The tracer, and the container for which it traces. */
export interface RecordTracing {
  readonly tracer: EventBusTracer;
  readonly container: TracedContainer;
}
