import type { DltRecord } from '../../model/records/dlt-record.js';

/** A discovered method that handles dead letters. */
export interface DltHandlerDefinition {
  /** Name of the binding; undefined means every binding. */
  readonly binding: string | undefined;
  /** Alias of the cluster; undefined means any cluster. */
  readonly cluster: string | undefined;
  readonly origin: string;
  /** Calls the method. Several decorators of one method share this function. */
  readonly invoke: (record: DltRecord) => unknown;
}
