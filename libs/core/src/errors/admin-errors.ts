import { EventBusException } from './event-bus-exception.js';

/** A request to the admin API has a part that is not valid. Nothing was done. */
export class InvalidAdminRequestException extends EventBusException {
  readonly code = 'INVALID_ADMIN_REQUEST';
  readonly retriable = false;

  constructor(
    /** What is wrong, and where: `query.count`, `body.where.exceptionClass`. */
    readonly complaints: readonly { readonly path: string; readonly message: string }[],
  ) {
    const all = complaints.map(({ path, message }) => `'${path}' ${message}`);
    super(`The request is not valid. Correct it: ${all.join('; ')}.`);
  }
}

/** The admin API of this application does not allow the right that the request needs. */
export class RightNotAllowedException extends EventBusException {
  readonly code = 'RIGHT_NOT_ALLOWED';
  readonly retriable = false;

  constructor(readonly right: string) {
    super(
      `The admin API does not allow '${right}'. Add it to allow in EventBusAdminModule.register if operators of this application need it.`,
    );
  }
}

/** A page of another site has sent a request that changes something. */
export class CrossSiteRequestException extends EventBusException {
  readonly code = 'CROSS_SITE_REQUEST';
  readonly retriable = false;

  constructor() {
    super(
      'The request comes from a page of another origin and was refused. If the page is yours, add its origin to access.trustedOrigins in EventBusAdminModule.register.',
    );
  }
}

/** There is no dead letter of the binding at this position. */
export class DeadLetterNotFoundException extends EventBusException {
  readonly code = 'DEAD_LETTER_NOT_FOUND';
  readonly retriable = false;

  constructor(
    readonly binding: string,
    readonly partition: number,
    readonly offset: string,
  ) {
    super(
      `Binding '${binding}' has no dead letter at partition ${partition}, offset ${offset}. Look at the list of letters again: retention or a purge may have deleted it.`,
    );
  }
}
