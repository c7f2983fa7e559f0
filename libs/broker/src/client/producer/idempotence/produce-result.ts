import { MalformedResponseError } from '../../../port/errors.js';
import { reactionTo, errorOfCode, type ProducedPartition } from '../../../wire/index.js';
import { mayBeWrittenDespite } from '../failed-record-state.js';
import { idempotenceAdvice } from './idempotence-advice.js';

/** The result of a request for the batch of one partition. */
export type ProduceResult =
  | { readonly kind: 'written'; readonly baseOffset: number; readonly appendTime: number }
  | {
      readonly kind: 'retry';
      /** True if the attempt may have written the records although it returned an error. */
      readonly mayBeWritten: boolean;
      readonly refresh: boolean;
      readonly error: Error;
    }
  | { readonly kind: 'split'; readonly error: Error }
  /**
   * The batch was not written, and the sequence of the partition must restart, with the same
   * producer id or with a new one.
   */
  | { readonly kind: 'out-of-sequence'; readonly needsNewId: boolean; readonly error: Error }
  /**
   * The broker refused the batch. `faulty` has the positions of the records that the broker named;
   * empty if the broker refused the whole batch.
   */
  | {
      readonly kind: 'refused';
      readonly faulty: ReadonlyMap<number, Error>;
      readonly mayBeWritten: boolean;
      readonly error: Error;
    };

const NO_FAULTY_RECORDS: ReadonlyMap<number, Error> = new Map();

/**
 * Returns the result of one batch. `answer` is undefined if the response does not contain its
 * partition.
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
  const mayBeWritten = mayBeWrittenDespite(code);
  switch (reaction) {
    case 'retry':
    case 'retry-unknown':
      return { kind: 'retry', mayBeWritten, refresh: false, error };
    case 'refresh-metadata':
    case 'refresh-metadata-unknown':
      return { kind: 'retry', mayBeWritten, refresh: true, error };
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
        mayBeWritten,
        error,
      };
  }
}

/**
 * Returns the result of a request without a response. `hasLeft` is true if the request may have
 * reached the broker.
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
