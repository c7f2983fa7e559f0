import { MalformedResponseError } from '../../../port/errors.js';
import {
  brokerCodes,
  reactionTo,
  errorOfCode,
  type ProducedPartition,
} from '../../../wire/index.js';
import { idempotenceAdvice } from './idempotence-advice.js';

/** What an answer means for the batch of one partition. */
export type ProduceVerdict =
  | { readonly kind: 'written'; readonly baseOffset: number; readonly appendTime: number }
  | {
      readonly kind: 'retry';
      /** The attempt may have written the records all the same. */
      readonly mayBeWritten: boolean;
      readonly refresh: boolean;
      readonly error: Error;
    }
  | { readonly kind: 'split'; readonly error: Error }
  /** Not written: the partition has to count anew, as the same producer or as another one. */
  | { readonly kind: 'out-of-sequence'; readonly needsNewId: boolean; readonly error: Error }
  /** `faulty` has the positions the broker named; empty where it means the whole batch. */
  | {
      readonly kind: 'refused';
      readonly faulty: ReadonlyMap<number, Error>;
      readonly mayBeWritten: boolean;
      readonly error: Error;
    };

const NONE_NAMED: ReadonlyMap<number, Error> = new Map();

/** The broker's answer for one batch; undefined when it left the partition out. */
export function verdictOf(
  answer: ProducedPartition | undefined,
  topic: string,
  partition: number,
): ProduceVerdict {
  if (answer === undefined) return leftOut(topic, partition);
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
        // A code of a broker newer than this driver proves nothing.
        mayBeWritten: !brokerCodes.has(code),
        error,
      };
  }
}

/** A request that got no answer at all; `hasLeft` when it may have arrived. */
export function failureOf(error: Error, isFinal: boolean, hasLeft: boolean): ProduceVerdict {
  return isFinal
    ? { kind: 'refused', faulty: NONE_NAMED, mayBeWritten: hasLeft, error }
    : { kind: 'retry', mayBeWritten: hasLeft, refresh: true, error };
}

function leftOut(topic: string, partition: number): ProduceVerdict {
  const error = new MalformedResponseError(
    `The broker's answer says nothing of partition ${partition} of "${topic}", which it was asked to write.`,
  );
  return { kind: 'retry', mayBeWritten: true, refresh: true, error };
}

function errorOfAnswer({ code, message }: ProducedPartition, topic: string, partition: number) {
  const advice = [said(message), idempotenceAdvice(code)].filter(Boolean).join(' ');
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
      errorOfCode(code, `Writing a record to partition ${partition} of "${topic}"`, said(message)),
    ]),
  );
}

function said(message: string | null): string {
  return message === null || message === '' ? '' : `The broker says: ${message}`;
}
