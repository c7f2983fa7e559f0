import { createHash } from 'node:crypto';
import type { DltRecord } from '../../model/records/dlt-record.js';

/** Facts of a dead letter that decide its group. */
export type GroupedFailure = Pick<
  DltRecord,
  'binding' | 'lastExceptionClass' | 'lastExceptionStacktrace' | 'dltCause'
>;

/** Any producer may have written the stack trace, so only its beginning is searched. */
const SEARCHED_CHARACTERS = 8_192;
const LIBRARY_FRAMES =
  /node_modules|node:|\(internal\/|<anonymous>|at (?:java|javax|jdk|sun|org\.springframework|org\.apache\.kafka)\./;
const POSITIONS_IN_FILE = /:\d+/g;
const FILE_WITH_FOLDER = /[^/\\(\s]+[/\\][^/\\()\s]+(?=\)?$)/;

/**
 * Returns the id of the group to which a dead letter belongs: the same binding, exception class,
 * cause, and first frame of the application. The message of the exception never counts, because it
 * often contains values of the record.
 */
export function causeGroupOf(letter: GroupedFailure): string {
  const { binding = '', lastExceptionClass, dltCause = '' } = letter;
  const frame = firstApplicationFrame(letter.lastExceptionStacktrace) ?? '';
  return createHash('sha256')
    .update(JSON.stringify([binding, lastExceptionClass, dltCause, frame]))
    .digest('hex')
    .slice(0, 16);
}

/**
 * Returns the first frame of a stack trace that belongs to the application: its function, its
 * folder and its file. Line numbers and parent folders differ between versions and machines, so
 * they are removed.
 */
export function firstApplicationFrame(stack: string | undefined): string | undefined {
  const frame = stack
    ?.slice(0, SEARCHED_CHARACTERS)
    .split('\n')
    .map((line) => line.trim())
    .find((line) => line.startsWith('at ') && !LIBRARY_FRAMES.test(line));
  if (frame === undefined) return undefined;
  const text = frame.slice('at '.length).replaceAll(POSITIONS_IN_FILE, '');
  const file = FILE_WITH_FOLDER.exec(text)?.[0];
  const [called = ''] = text.split(' (', 1);
  if (file === undefined) return text;
  return text.includes(' (') ? `${called} (${file.replaceAll('\\', '/')})` : file;
}
