import {
  InvalidOptionError,
  SendError,
  type OutgoingRecord,
  type SendOptions,
} from '@nest-event-bus/broker';
import { EventPublishException } from '../errors/publish-errors.js';
import type { EventToPublish, PublishTarget } from './event-publisher.js';
import { EventsPublishException, type EventResult } from './events-publish-exception.js';
import { outgoingRecord } from './outgoing-record.js';
import { failureOfRecord, publishedOrUnknown, publishFailure } from './publish-result.js';
import { createPublishedEvent, type PublishedEvent } from './published-event.js';
import { serializeEvent } from './serialize-event.js';

/** The record of an event, or the reason for which the event cannot be sent. */
type PreparedEvent = OutgoingRecord | EventPublishException;

/**
 * Sends the events that can be serialized with one call of the producer. Rejects with
 * EventsPublishException if one of them was not published.
 */
export async function publishAll(
  target: PublishTarget,
  events: readonly EventToPublish[],
  options: SendOptions,
): Promise<readonly PublishedEvent[]> {
  const startedAt = target.meter?.start() ?? 0;
  const pending = events.map((event) => prepare(target, event));
  // The results of a synchronous serializer are not awaited, so that events keep the order in which
  // they were published.
  const prepared: readonly PreparedEvent[] = isEachPrepared(pending)
    ? pending
    : await Promise.all(pending.map(async (each) => each));
  const records = prepared.filter((each): each is OutgoingRecord => !isFailure(each));
  const trace = target.tracer?.send(target.topic, records);
  const ofRecords = await sendAll(target, trace?.records ?? records, options);
  trace?.end(ofRecords.find(isFailure));
  const results =
    records.length === prepared.length ? ofRecords : withUnsent(prepared, ofRecords.values());
  target.meter?.ended(startedAt, results);
  if (areAllPublished(results)) return results;
  throw new EventsPublishException(target, results);
}

/** Merges the results of the sent records with those of the events that could not be sent. */
function withUnsent(
  events: readonly PreparedEvent[],
  ofRecords: Iterator<EventResult>,
): readonly EventResult[] {
  return events.map((each) => (isFailure(each) ? each : (ofRecords.next().value as EventResult)));
}

/** Returns a promise only if the serializer returns one. */
function prepare(
  target: PublishTarget,
  event: EventToPublish,
): PreparedEvent | Promise<PreparedEvent> {
  try {
    const form = serializeEvent(target, event.event);
    if (!(form instanceof Promise)) return outgoingRecord(target, form, event);
    return form
      .then((later) => outgoingRecord(target, later, event))
      .catch((error: unknown) => publishFailure(target, error));
  } catch (error) {
    return publishFailure(target, error);
  }
}

/** Returns one result per record. Never rejects. */
async function sendAll(
  target: PublishTarget,
  records: readonly OutgoingRecord[],
  options: SendOptions,
): Promise<readonly EventResult[]> {
  try {
    if (target.created) await target.created();
    const written = await target.producer().send(records, options);
    return records.map((_, index) => publishedOrUnknown(target, written[index]));
  } catch (error) {
    if (error instanceof InvalidOptionError && records.length > 1)
      return sendEach(target, records, options);
    if (!(error instanceof SendError)) return records.map(() => publishFailure(target, error));
    return error.outcomes.map((outcome) =>
      outcome.state === 'written'
        ? createPublishedEvent(outcome)
        : failureOfRecord(target, outcome),
    );
  }
}

/**
 * Sends each record with a call of its own, in their order, because the producer refuses a whole call
 * if one of its records is invalid.
 */
async function sendEach(
  target: PublishTarget,
  records: readonly OutgoingRecord[],
  options: SendOptions,
): Promise<readonly EventResult[]> {
  const results = await Promise.all(records.map((record) => sendAll(target, [record], options)));
  return results.flat();
}

function isEachPrepared(
  pending: readonly (PreparedEvent | Promise<PreparedEvent>)[],
): pending is readonly PreparedEvent[] {
  return !pending.some((each) => each instanceof Promise);
}

function isFailure(each: PreparedEvent | EventResult): each is EventPublishException {
  return each instanceof EventPublishException;
}

function areAllPublished(results: readonly EventResult[]): results is readonly PublishedEvent[] {
  return !results.some(isFailure);
}
