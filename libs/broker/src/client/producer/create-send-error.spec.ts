import { ClosedError, ConnectionError, RecordTooLargeError } from '../../port/errors.js';
import type { RecordOutcome } from '../../port/record.js';
import { createSendError } from './create-send-error.js';

const topic = 'orders';
const written: RecordOutcome = { state: 'written', topic, partition: 0, offset: 1, timestamp: 1 };
const lost = new ConnectionError('The connection was lost.');
const tooLarge = new RecordTooLargeError('Too large.', { brokerCode: 10 });
const notWritten = (error: Error): RecordOutcome => ({ state: 'not-written', topic, error });
const unknown = (error: Error): RecordOutcome => ({ state: 'unknown', topic, error });

describe('createSendError()', () => {
  it.each<[readonly RecordOutcome[], string, boolean]>([
    [
      [notWritten(lost)],
      'Of 1 record: 1 not written. The connection was lost. Sending what was not written again may succeed.',
      true,
    ],
    [
      [written, notWritten(tooLarge), written],
      'Of 3 records: 1 not written, 2 written. Too large. Sending the same again will fail again: see the outcomes for what to change.',
      false,
    ],
    [
      [unknown(lost), notWritten(lost)],
      'Of 2 records: 1 not written, 1 with an unknown result (a request was sent, and its outcome is not known). The connection was lost. Send again only if the consumers tolerate duplicates: records with an unknown result may be in the log.',
      true,
    ],
    [
      [notWritten(tooLarge), notWritten(lost), notWritten(new ClosedError('Closed.'))],
      'Of 3 records: 3 not written. Too large. (and 2 more causes, see the outcomes) Sending the same again will fail again: see the outcomes for what to change.',
      false,
    ],
  ])(
    'says how many records failed, why, and what to do (case %#)',
    (outcomes, message, retriable) => {
      const error = createSendError(outcomes);
      expect([error.message, error.retriable]).toEqual([message, retriable]);
      expect(error.outcomes).toBe(outcomes);
    },
  );

  it('has the broker code of its first cause', () => {
    expect(createSendError([written, notWritten(tooLarge)])).toMatchObject({
      brokerCode: 10,
      cause: tooLarge,
    });
  });
});
