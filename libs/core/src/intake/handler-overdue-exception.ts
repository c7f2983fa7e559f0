import { EventBusException } from '../errors/event-bus-exception.js';

/** Why a session leaves its group: whoever gets the partition delivers the record again. */
export class HandlerOverdueException extends EventBusException {
  readonly code = 'HANDLER_OVERDUE';
  readonly retriable = true;

  constructor(maxPollIntervalMs: number) {
    super(
      `A handler runs for longer than maxPollIntervalMs (${maxPollIntervalMs}), so the session leaves its group and joins again; what the handler did is not committed. Let it give up in time, or raise maxPollIntervalMs.`,
    );
  }
}
