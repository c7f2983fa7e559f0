import { EventBusException } from './event-bus-exception.js';

export type AbortCause = 'paused' | 'revoked' | 'lost' | 'drained' | 'session-ended';

const MESSAGES: Readonly<Record<AbortCause, string>> = {
  paused: 'the session was paused',
  revoked: 'its partition goes to another member of the group',
  lost: 'its partition belongs to another member of the group already',
  drained: 'the session drains',
  'session-ended': 'the session ended and is replaced',
};

/**
 * The reason of a delivery's abort signals. The work is cancelled, and the record is delivered
 * again.
 */
export class DeliveryAbortedException extends EventBusException {
  readonly code = 'DELIVERY_ABORTED';
  readonly retriable = true;

  constructor(readonly reason: AbortCause) {
    super(
      `The delivery was aborted: ${MESSAGES[reason]}. Stop working on the record; it is delivered again.`,
    );
  }
}

/**
 * The reason why a session leaves its group. The next owner of the partition delivers the record
 * again.
 */
export class HandlerOverdueException extends EventBusException {
  readonly code = 'HANDLER_OVERDUE';
  readonly retriable = true;

  constructor(maxPollIntervalMs: number) {
    super(
      `A handler runs for longer than maxPollIntervalMs (${maxPollIntervalMs}), so the session leaves its group and joins again; what the handler did is not committed. Let it give up in time, or raise maxPollIntervalMs.`,
    );
  }
}
