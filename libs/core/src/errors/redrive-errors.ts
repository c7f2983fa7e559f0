import { EventBusException } from './event-bus-exception.js';

/** A filter or selection of dead letters is not valid. Nothing was read or written. */
export class InvalidDeadLetterFilterException extends EventBusException {
  readonly code = 'INVALID_DEAD_LETTER_FILTER';
  readonly retriable = false;

  constructor(
    readonly field: string,
    complaint: string,
  ) {
    super(`The selection of dead letters is not valid: '${field}' ${complaint}.`);
  }
}

/** An edit of a dead letter is not valid. Nothing was written. */
export class InvalidDeadLetterEditException extends EventBusException {
  readonly code = 'INVALID_DEAD_LETTER_EDIT';
  readonly retriable = false;

  constructor(
    readonly field: string,
    complaint: string,
  ) {
    super(`The edit of a dead letter is not valid: '${field.slice(0, 300)}' ${complaint}.`);
  }
}

/** The ledger has no plan with this id. */
export class RedrivePlanNotFoundException extends EventBusException {
  readonly code = 'REDRIVE_PLAN_NOT_FOUND';
  readonly retriable = false;

  constructor(
    readonly binding: string,
    readonly planId: string,
  ) {
    super(
      `Binding '${binding}' has no redrive plan '${planId.slice(0, 100)}'. Make a plan first, and pass its id.`,
    );
  }
}

/** The operation cannot run in its present state, or in this cluster. Nothing was replayed. */
export class RedriveRefusedException extends EventBusException {
  readonly code = 'REDRIVE_REFUSED';
  readonly retriable = false;

  constructor(
    readonly binding: string,
    complaint: string,
    options?: ErrorOptions,
  ) {
    super(`Dead letters of binding '${binding}' cannot be redriven: ${complaint}`, options);
  }
}

/** The application schedules replays, and has no scheduler. */
export class SchedulerMissingException extends EventBusException {
  readonly code = 'SCHEDULER_MISSING';
  readonly retriable = false;

  constructor() {
    super(
      "EventBusScheduleModule needs the scheduler of Nest. Install @nestjs/schedule, and add ScheduleModule.forRoot() to the imports of the application's root module.",
    );
  }
}
