import type { RecordHeader } from '@nest-event-bus/broker';
import { replayDigestOf } from '../../model/records/replay-digest.js';
import type { ReadLetter } from '../letters/read-letters.js';
import type { ReplayedContent } from '../running/replayed-record.js';
import type { LetterEdit } from './letter-edit.js';

/** Returns what the new record has: the parts of the edit, and the others of the letter. */
export function editedContent({ facts, record }: ReadLetter, edit: LetterEdit): ReplayedContent {
  return {
    key: edit.key === undefined ? record.key : bytesOf(edit.key),
    value: edit.value === undefined ? record.value : bytesOf(edit.value),
    headers: edit.headers === undefined ? facts.headers : withHeaders(facts.headers, edit.headers),
    keepsPartition: edit.key === undefined,
    editedFrom: `${record.topic}/${record.partition}/${record.offset}`,
  };
}

/** Digests of key and value before and after. They show a change without showing the payload. */
export function digestsOf(letter: ReadLetter, content: ReplayedContent) {
  return { digestBefore: replayDigestOf(letter.record), digestAfter: replayDigestOf(content) };
}

function withHeaders(
  headers: readonly RecordHeader[],
  changes: NonNullable<LetterEdit['headers']>,
): readonly RecordHeader[] {
  const kept = headers.filter(({ key }) => !Object.hasOwn(changes, key));
  const added = Object.entries(changes).flatMap(([key, value]) =>
    value === null ? [] : [{ key, value: Buffer.from(value) }],
  );
  return [...kept, ...added];
}

const bytesOf = (given: string | Buffer | null): Buffer | null =>
  typeof given === 'string' ? Buffer.from(given) : given;
