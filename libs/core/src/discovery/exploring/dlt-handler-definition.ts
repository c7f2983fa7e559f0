import type { DltRecord } from '../../model/records/dlt-record.js';

/** A method for dead letters that was found. */
export interface DltHandlerDefinition {
  /** undefined: of every binding. */
  readonly binding: string | undefined;
  /** undefined: of whatever cluster. */
  readonly cluster: string | undefined;
  readonly origin: string;
  /** One function for one method, however often it is decorated. */
  readonly invoke: (record: DltRecord) => unknown;
}
