import { OutboxError } from '@nest-event-bus/outbox';

/** The DEAD events are no longer those that the plan has shown. Nothing was changed. */
export class OutboxPlanChangedError extends OutboxError {
  readonly code = 'OUTBOX_PLAN_CHANGED';
  readonly retriable = false;

  constructor() {
    super('The DEAD events are not those of the plan any more. Plan again and look at the result.');
  }
}

/** This process runs no operation with this id. */
export class OutboxOperationNotFoundError extends OutboxError {
  readonly code = 'OUTBOX_OPERATION_NOT_FOUND';
  readonly retriable = false;

  constructor(id: string) {
    super(
      `This process knows no operation ${id.slice(0, 100)}. Ask the process that has started it.`,
    );
  }
}

/** The table has no event with this id. */
export class OutboxEventNotFoundError extends OutboxError {
  readonly code = 'OUTBOX_EVENT_NOT_FOUND';
  readonly retriable = false;

  constructor(eventId: string) {
    super(`The outbox has no event ${eventId.slice(0, 100)}. It may have been purged.`);
  }
}
