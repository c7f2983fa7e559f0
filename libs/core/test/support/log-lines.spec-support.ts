import { Logger, type LoggerService } from '@nestjs/common';
import { logContext } from '../../src/logging/mdc-context-propagator.js';
import type { LogFields, RecordLogFields } from '../../src/logging/record-log-context.js';

export interface SeenLine {
  readonly message: string;
  readonly prefix: string;
  readonly fields: LogFields;
}

/** A logger of an application, with the log context that each line had. */
export class LogLines implements LoggerService {
  readonly all: SeenLine[] = [];
  readonly #reader = logContext.reader();

  log = (message: unknown): void => this.#add(message);
  error = (message: unknown): void => this.#add(message);
  warn = (message: unknown): void => this.#add(message);
  debug = (message: unknown): void => this.#add(message);

  /** Replaces the logger of the application that was started last. */
  install(): this {
    Logger.overrideLogger(this);
    return this;
  }

  of(message: string): readonly SeenLine[] {
    return this.all.filter((line) => line.message === message);
  }

  /** Returns topic, partition and offset of each line with this message: `orders-0@3`. */
  placesOf(message: string): readonly string[] {
    return this.of(message).map(({ fields }) => placeOf(fields));
  }

  #add(message: unknown): void {
    const fields = this.#reader.fields();
    this.all.push({ message: String(message), prefix: this.#reader.prefix(), fields });
  }
}

export function placeOf(fields: LogFields): string {
  const { topic, partition, offset, lastOffset } = fields as Partial<RecordLogFields>;
  if (topic === undefined) return 'none';
  return `${topic}-${partition}@${offset}${lastOffset === undefined ? '' : `-${lastOffset}`}`;
}
