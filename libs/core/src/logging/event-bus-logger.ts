import { ConsoleLogger, type ConsoleLoggerOptions, type LogLevel } from '@nestjs/common';
import { logContext, type LogContextReader } from './mdc-context-propagator.js';
import type { LogFields } from './record-log-context.js';

/** What Nest knows of a line in JSON. */
interface JsonLineParts {
  readonly context: string;
  readonly logLevel: LogLevel;
  readonly writeStreamType?: 'stdout' | 'stderr';
  readonly errorStack?: unknown;
}

interface JsonLine {
  [key: string]: unknown;
  level: LogLevel;
  pid: number;
  timestamp: number;
  message: unknown;
  context?: string;
  stack?: unknown;
}

/**
 * The console logger of Nest, with the context of the record that is being handled: as a prefix of
 * each line, or as fields with `json: true`.
 */
export class EventBusLogger extends ConsoleLogger {
  readonly #reader: LogContextReader = logContext.reader();

  constructor(options: ConsoleLoggerOptions = {}) {
    super(options);
    if (!('getJsonLogObject' in ConsoleLogger.prototype)) this.#extendReplacer();
  }

  protected override stringifyMessage(message: unknown, logLevel: LogLevel): string {
    const text = super.stringifyMessage(message, logLevel);
    const prefix = this.#reader.prefix();
    return prefix === '' ? text : `${prefix} ${text}`;
  }

  protected override getJsonLogObject(message: unknown, parts: JsonLineParts): JsonLine {
    return this.#withFields(super.getJsonLogObject(message, parts));
  }

  /**
   * Adds the fields when the line is serialized. Nest before 11.1.6 has no method that creates the
   * line, and passes its replacer to JSON.stringify as a plain function.
   */
  #extendReplacer(): void {
    const replace = (key: string, value: unknown): unknown =>
      key === '' ? this.#withFields(value as JsonLine) : super.stringifyReplacer(key, value);
    Object.defineProperty(this, 'stringifyReplacer', { value: replace });
  }

  /** Adds the fields. Those of Nest win, so that a field named `level` changes no level. */
  #withFields(line: JsonLine): JsonLine {
    const busLine = this.#reader.lineOf(line.message);
    if (busLine) line.message = busLine.message;
    return Object.assign(line, missingIn(line, this.#reader.fields()));
  }
}

function missingIn(line: JsonLine, fields: LogFields): LogFields {
  return Object.fromEntries(Object.entries(fields).filter(([key]) => !(key in line)));
}
