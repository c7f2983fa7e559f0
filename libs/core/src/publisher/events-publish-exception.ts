import { EventBusException } from '../errors/event-bus-exception.js';
import { EventPublishException } from '../errors/publish-errors.js';
import type { PublishTarget } from './event-publisher.js';
import type { PublishedEvent } from './published-event.js';

/** Position of an event that was published, or the reason for which it was not. */
export type EventResult = PublishedEvent | EventPublishException;

/** Some events of `publishAll` were not published, or it is unknown whether they were. */
export class EventsPublishException extends EventBusException {
  readonly code = 'EVENTS_PUBLISH';
  /** True if publishing the failed events again may succeed for all of them. */
  readonly retriable: boolean;

  constructor(
    { binding, topic }: Pick<PublishTarget, 'binding' | 'topic'>,
    /** One result per event, in order. */
    readonly results: readonly EventResult[],
  ) {
    const failures = results.filter((result) => result instanceof EventPublishException);
    super(
      `${failures.length} of ${results.length} events of binding '${binding}' could not be published to topic '${topic}'. Look at each of the results. The first failure: ${failures[0]?.message}`,
      { cause: failures[0] },
    );
    this.retriable = failures.every(({ retriable }) => retriable);
  }
}
