import type { BrokerRecord, DriverLogger } from '@nest-event-bus/broker';
import type { RecordLogContext } from '../../logging/record-log-context.js';
import type { RecordLog } from '../../model/records/record-log.js';
import type { LogContexts } from '../logging/log-contexts.js';

type Fields = Readonly<Record<string, unknown>>;

/** The log context of the record, so that its lines have it wherever they are written. */
export interface RecordLogScope {
  readonly contexts: LogContexts;
  readonly context: RecordLogContext;
}

/**
 * Adds the position of the record to each log line. Offsets are decimal text, because a number
 * could lose digits.
 */
export class RecordLogger implements RecordLog {
  readonly #logger: DriverLogger;
  readonly #position: Fields;
  readonly #scope: RecordLogScope | undefined;
  readonly #added: Fields;

  constructor(
    logger: DriverLogger,
    position: Fields,
    scope: RecordLogScope | undefined,
    added: Fields = {},
  ) {
    this.#logger = logger;
    this.#position = position;
    this.#scope = scope;
    this.#added = added;
  }

  with(fields: Fields): RecordLog {
    const added = { ...this.#added, ...fields };
    return new RecordLogger(this.#logger, this.#position, this.#scope, added);
  }

  run<T>(work: () => T): T {
    if (!this.#scope) return work();
    const { contexts, context } = this.#scope;
    return contexts.run(withFields(context, this.#added), work);
  }

  debug(message: string, context?: Fields): void {
    this.#write('debug', message, context);
  }

  info(message: string, context?: Fields): void {
    this.#write('info', message, context);
  }

  warn(message: string, context?: Fields): void {
    this.#write('warn', message, context);
  }

  error(message: string, context?: Fields): void {
    this.#write('error', message, context);
  }

  #write(level: keyof DriverLogger, message: string, context: Fields | undefined): void {
    const fields = { ...this.#added, ...context, ...this.#position };
    const write = (): void => this.#logger[level](message, fields);
    if (this.#scope) this.#scope.contexts.run(this.#scope.context, write);
    else write();
  }
}

/** Returns the fields with which every line about the record begins. */
export function positionOf(
  binding: string,
  { topic, partition, offset }: Pick<BrokerRecord, 'topic' | 'partition' | 'offset'>,
): Fields {
  return { binding, topic, partition, offset: String(offset) };
}

function withFields(context: RecordLogContext, added: Fields): RecordLogContext {
  return {
    get fields() {
      return { ...added, ...context.fields };
    },
    get prefix() {
      return context.prefix;
    },
    isNamedBy: (fields) => context.isNamedBy(fields),
  };
}
