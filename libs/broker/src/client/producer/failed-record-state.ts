import type { RecordOutcome } from '../../port/record.js';
import { brokerCodes, reactionTo } from '../../wire/index.js';

/** State of a record that was not acknowledged. An acknowledged record is `written`. */
export type FailedState = Exclude<RecordOutcome['state'], 'written'>;

/**
 * Decides what a failed send reports of a record: `unknown` if a request with it was sent whose result
 * is not known, now or in an earlier attempt, otherwise `not-written`.
 */
export function failedRecordState(mayBeWritten: boolean, isInFlight: boolean): FailedState {
  return mayBeWritten || isInFlight ? 'unknown' : 'not-written';
}

/**
 * Decides whether an attempt may have written its records although the broker answered with this error
 * code. An unknown code, of a broker newer than this driver, proves nothing.
 */
export function mayBeWrittenDespite(code: number): boolean {
  if (!brokerCodes.has(code)) return true;
  const reaction = reactionTo('produce', code);
  return reaction === 'retry-unknown' || reaction === 'refresh-metadata-unknown';
}
