import {
  errorSentenceOf,
  SendError,
  type RecordOutcome,
  type WrittenRecord,
} from '@nest-event-bus/broker';
import { EventPublishException } from '../errors/publish-errors.js';
import type { PublishTarget } from './event-publisher.js';
import type { EventResult } from './events-publish-exception.js';
import { createPublishedEvent } from './published-event.js';

type Destination = Pick<PublishTarget, 'binding' | 'topic'>;
type FailedRecord = Exclude<RecordOutcome, { readonly state: 'written' }>;

export function publishedOrUnknown(
  { binding }: Destination,
  written: WrittenRecord | undefined,
): EventResult {
  if (written) return createPublishedEvent(written);
  return new EventPublishException(
    `The driver reported no partition and offset for the event of binding '${binding}', so it is not known whether it was written. Publishing it again may write it twice.`,
    { fate: 'unknown' },
  );
}

/** Returns the exception for an event that was sent alone, or not at all. */
export function publishFailure(target: Destination, cause: unknown): EventPublishException {
  if (cause instanceof EventPublishException) return cause;
  const isUnknown = cause instanceof SendError && cause.outcomes[0]?.state === 'unknown';
  return failureBecauseOf(target, cause, isUnknown);
}

/** Returns the exception for one of several events, with the error of its own record. */
export function failureOfRecord(
  target: Destination,
  { error, state }: FailedRecord,
): EventPublishException {
  return failureBecauseOf(target, error, state === 'unknown');
}

function failureBecauseOf(
  { binding, topic }: Destination,
  cause: unknown,
  isUnknown: boolean,
): EventPublishException {
  const consequence = isUnknown
    ? 'It is not known whether it was written: publishing it again may write it twice.'
    : 'It was not written.';
  return new EventPublishException(
    `An event of binding '${binding}' could not be published to topic '${topic}'. ${consequence} ${errorSentenceOf(cause)}`,
    { cause, fate: isUnknown ? 'unknown' : 'not-written' },
  );
}
