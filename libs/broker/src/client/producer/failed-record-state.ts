import type { RecordOutcome } from '../../port/record.js';
import { brokerCodes, reactionTo } from '../../wire/index.js';

/** The state of a record that was not acknowledged. An acknowledged record is `written`. */
export type FailedState = Exclude<RecordOutcome['state'], 'written'>;

/**
 * Decides which state a failed send reports for a record: `unknown` if a request that contains the
 * record was sent and its result is unknown, in any attempt; otherwise `not-written`.
 */
export function failedRecordState(mayBeWritten: boolean, isInFlight: boolean): FailedState {
  return mayBeWritten || isInFlight ? 'unknown' : 'not-written';
}

/**
 * Decides whether an attempt may have written its records although the broker answered with this
 * error code. A broker that is newer than this driver may return an unknown code, which does not
 * say whether the records were written.
 */
export function mayBeWrittenDespite(code: number): boolean {
  if (!brokerCodes.has(code)) return true;
  const reaction = reactionTo('produce', code);
  return reaction === 'retry-unknown' || reaction === 'refresh-metadata-unknown';
}
