import { AsyncLocalStorage } from 'node:async_hooks';
import type { LogFields, RecordLogContext } from './record-log-context.js';

/** A log line of the bus that is being written. */
export interface BusLine {
  /** The whole line, as it is passed to the logger of the application. */
  readonly text: string;
  /** The line without its fields. */
  readonly message: string;
  readonly fields: LogFields;
}

/** Reads the log context at the time of a log line. No method throws. */
export interface LogContextReader {
  /**
   * Returns the fields for the line that is being logged: those of the record in hand, and those
   * that the bus adds to a line of its own. Empty outside of the handling of a record.
   */
  fields(): LogFields;
  /**
   * Returns `[binding|topic|partition|offset|group|instance]` of the record in hand. Empty outside
   * of the handling of a record.
   */
  prefix(): string;
  /** Returns the line of the bus that consists of this text, while it is being written. */
  lineOf(text: unknown): BusLine | undefined;
}

interface LogState {
  readonly contexts: AsyncLocalStorage<RecordLogContext | undefined>;
  line: BusLine | undefined;
  isRead: boolean;
}

/**
 * The key under which the copies of this package share the context: an application may load it as
 * an ES module and as CommonJS.
 */
const STATE = Symbol.for('@nest-event-bus/core.log-context');

const NO_FIELDS: LogFields = Object.freeze({});

/**
 * Carries the context of the record that is being handled to every log line that its handling
 * causes: over `await`, timers and promises. The context belongs to the asynchronous call and not
 * to an application, so that a logger needs no injection to read it.
 */
export class MdcContextPropagator {
  readonly #state: LogState;

  constructor() {
    const shared = globalThis as { [STATE]?: LogState };
    this.#state = shared[STATE] ??= {
      contexts: new AsyncLocalStorage(),
      line: undefined,
      isRead: false,
    };
  }

  /**
   * True after the first call of `reader`. Before, no context is created, because contexts cost up
   * to a microsecond per record.
   */
  get isRead(): boolean {
    return this.#state.isRead;
  }

  /** Returns what a logger needs to add the context to its lines. Call it when the logger is created. */
  reader(): LogContextReader {
    this.#state.isRead = true;
    return {
      fields: () => this.#fields(),
      prefix: () => this.#prefix(),
      lineOf: (text) => this.#lineOf(text),
    };
  }

  /** Calls the function in this context, and returns its result. */
  run<A extends unknown[], R>(context: RecordLogContext, work: (...args: A) => R, ...args: A): R {
    return this.#state.contexts.run(context, work, ...args);
  }

  /** Calls the function without a context, and so does everything that it schedules. */
  runOutside(work: () => void): void {
    const { contexts } = this.#state;
    if (contexts.getStore() === undefined) work();
    else contexts.run(undefined, work);
  }

  /** Calls `write`, which passes the line to the logger of the application. */
  writeLine(line: BusLine, write: () => void): void {
    const before = this.#state.line;
    this.#state.line = line;
    try {
      write();
    } finally {
      this.#state.line = before;
    }
  }

  #fields(): LogFields {
    try {
      const { line } = this.#state;
      const fields = this.#current()?.fields;
      return line ? { ...line.fields, ...fields } : (fields ?? NO_FIELDS);
    } catch {
      // A log line without its context is better than a handler that fails at its log line.
      return NO_FIELDS;
    }
  }

  #prefix(): string {
    try {
      return this.#current()?.prefix ?? '';
    } catch {
      return '';
    }
  }

  #lineOf(text: unknown): BusLine | undefined {
    const { line } = this.#state;
    return line?.text === text ? line : undefined;
  }

  /**
   * Leaves out the context for a line of the bus about something else. Connections and timers keep
   * the context of the record that happened to create them.
   */
  #current(): RecordLogContext | undefined {
    const { contexts, line } = this.#state;
    const context = contexts.getStore();
    return context && line && !context.isNamedBy(line.fields) ? undefined : context;
  }
}

/** The context of the process. A logger of any library reads it with `logContext.reader()`. */
export const logContext = new MdcContextPropagator();
