import { join } from 'node:path';
import { readThrownMessages } from '../../tools/thrown-messages.mjs';

/** Words with which the messages say what to do. */
const REMEDY = new RegExp(
  [
    /\b(abort|add|allow|answer|ask|await|begin|call|check|choose|close|commit|correct|create)\b/,
    /\b(discard|do not|find|give|grant|install|leave|let|lift|look|lower|make|name|needed|pass)\b/,
    /\b(provide|publish|put|raise|read|remove|repeat|report|return|run|say|see|seek|send|set)\b/,
    /\b(shorten|show|start|stop|subscribe|try|upgrade|use|wait|write|takes|must|needs|requires)\b/,
    /\b(did you mean|known are|classify\(\) returns)/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'i',
);

/** A placeholder whose text says what to do, because it is a message or an advice itself. */
const COMPLETED =
  /\$\{[^}]*(advice|effect|consequence|rest|problem|complaint|message|reasons|error(Sentence|Reason)Of|registered|suggestion)/i;

/** Classes of errors that never reach an application alone, and those whose name says it all. */
const EXCLUDED: Readonly<Record<string, string>> = {
  Error: 'ends a wait inside the library, or is the cause of another error',
  AggregateError: 'lists the messages of other errors',
  ClosedError: 'the application has closed the object itself',
  MalformedBytesError: 'is completed by PoisonBatchError',
  MalformedResponseError: 'is the defect of a broker or a proxy: docs/reference/errors.md',
  UnreadableValueError: 'is completed by DeserializationException',
  HandlerDiscoveryException: 'lists problems, each with what to do',
  ConfigurationValidationException: 'lists violations, each with what to do',
};

/** Messages that need no remedy, with the reason. */
const JUDGED: Readonly<Record<string, string>> = {
  'An operator gave the record up.': 'the reason of a dead letter',
  'The partition was taken away.': 'ends a wait inside the library',
  'The join was cancelled.': 'ends a wait inside the library',
  'The session is closed.': 'ends a wait inside the library',
  'The join has ended.': 'ends a wait inside the library',
  'The membership has ended.': 'ends a wait inside the library',
  'The request was aborted before it was sent.': 'the caller has aborted it',
  'All records of the request were abandoned before it was sent.': 'the callers have aborted them',
  'The broker moved to ${host}:${port}.': 'the request is repeated there at once',
};

/** A message that begins in the middle of a sentence is a part of another one. */
const isPart = (text: string): boolean => /^[a-z]/.test(text) && !/^[a-z]+[.(][a-z]/i.test(text);

describe('The message of an error', () => {
  const messages = readThrownMessages(join(__dirname, '../..'));

  it('is found in the sources', () => {
    expect(messages.length).toBeGreaterThan(250);
  });

  it('says what to do, unless a list says why not', () => {
    const silent = messages.filter(
      ({ error, text }) =>
        !REMEDY.test(text) &&
        !COMPLETED.test(text) &&
        !isPart(text) &&
        !(error in EXCLUDED) &&
        !(text in JUDGED),
    );
    expect(silent).toEqual([]);
  });

  it('is in that list only if it exists', () => {
    const texts = new Set(messages.map(({ text }) => text));
    expect(Object.keys(JUDGED).filter((text) => !texts.has(text))).toEqual([]);
  });
});
