import type { DltRecord } from '../model/dlt-record.js';

/** A method for dead letters that was found. */
export interface DltHandlerDefinition {
  /** undefined: of every binding. */
  readonly binding: string | undefined;
  readonly origin: string;
  invoke(record: DltRecord): unknown;
}
