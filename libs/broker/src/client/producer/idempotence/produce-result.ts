import { MalformedResponseError } from '../../../port/errors.js';
import {
  brokerCodes,
  reactionTo,
  errorOfCode,
  type ProducedPartition,
} from '../../../wire/index.js';
import { idempotenceAdvice } from './idempotence-advice.js';

/** The result of a request for the batch of one partition. */
export type ProduceResult =
  | { readonly kind: 'written'; readonly baseOffset: number; readonly appendTime: number }
  | {
      readonly kind: 'retry';
      /** True if the attempt may have written the records despite the error. */
      readonly mayBeWritten: boolean;
      readonly refresh: boolean;
      readonly error: Error;
    }
  | { readonly kind: 'split'; readonly error: Error }
  /**
   * The batch was not written, and the partition has to restart its sequence: with the same
   * producer id, or with a new one.
   */
  | { readonly kind: 'out-of-sequence'; readonly needsNewId: boolean; readonly error: Error }
  /**
   * `faulty` has the positions of the records that the broker named; empty if the whole batch is
   * refused.
   */
  | {
      readonly kind: 'refused';
      readonly faulty: ReadonlyMap<number, Error>;
      readonly mayBeWritten: boolean;
      readonly error: Error;
    };

const NO_FAULTY_RECORDS: ReadonlyMap<number, Error> = new Map();

/**
 * Returns the broker's result for one batch. `answer` is undefined if the response does not contain
 * the partition.
 */
export function produceResultOf(
  answer: ProducedPartition | undefined,
  topic: string,
  partition: number,
): ProduceResult {
  if (answer === undefined) return missingInResponse(topic, partition);
  const { code, baseOffset, appendTime } = answer;
  const reaction = reactionTo('produce', code);
  if (reaction === 'done') return { kind: 'written', baseOffset, appendTime };
  const error = errorOfAnswer(answer, topic, partition);
  switch (reaction) {
    case 'retry':
      return { kind: 'retry', mayBeWritten: false, refresh: false, error };
    case 'retry-unknown':
      return { kind: 'retry', mayBeWritten: true, refresh: false, error };
    case 'refresh-metadata':
      return { kind: 'retry', mayBeWritten: false, refresh: true, error };
    case 'refresh-metadata-unknown':
      return { kind: 'retry', mayBeWritten: true, refresh: true, error };
    case 'split':
      return { kind: 'split', error };
    case 'restart-sequence':
      return { kind: 'out-of-sequence', needsNewId: false, error };
    case 'new-producer-id':
      return { kind: 'out-of-sequence', needsNewId: true, error };
    default:
      return {
        kind: 'refused',
        faulty: faultyRecords(answer, topic, partition),
        // An unknown code, of a broker newer than this driver, proves nothing.
        mayBeWritten: !brokerCodes.has(code),
        error,
      };
  }
}

/**
 * Returns the result of a request without a response. `hasLeft` is true if the request may have
 * arrived.
 */
export function resultOfFailure(error: Error, isFinal: boolean, hasLeft: boolean): ProduceResult {
  return isFinal
    ? { kind: 'refused', faulty: NO_FAULTY_RECORDS, mayBeWritten: hasLeft, error }
    : { kind: 'retry', mayBeWritten: hasLeft, refresh: true, error };
}

function missingInResponse(topic: string, partition: number): ProduceResult {
  const error = new MalformedResponseError(
    `The broker's response does not contain partition ${partition} of "${topic}", which was in the request.`,
  );
  return { kind: 'retry', mayBeWritten: true, refresh: true, error };
}

function errorOfAnswer({ code, message }: ProducedPartition, topic: string, partition: number) {
  const advice = [brokerMessage(message), idempotenceAdvice(code)].filter(Boolean).join(' ');
  return errorOfCode(code, `Writing to partition ${partition} of "${topic}"`, advice);
}

function faultyRecords(
  { code, recordErrors }: ProducedPartition,
  topic: string,
  partition: number,
): ReadonlyMap<number, Error> {
  return new Map(
    recordErrors.map(({ index, message }) => [
      index,
      errorOfCode(
        code,
        `Writing a record to partition ${partition} of "${topic}"`,
        brokerMessage(message),
      ),
    ]),
  );
}

function brokerMessage(message: string | null): string {
  return message === null || message === '' ? '' : `The broker says: ${message}`;
}
