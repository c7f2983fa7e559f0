import { markMessage } from '@nest-event-bus/broker';

/**
 * A value could not be read. The message quotes nothing of the value, because it is written to logs
 * and dead letters.
 */
export class UnreadableValueError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }

  static {
    markMessage(this.prototype, 'own');
  }
}
