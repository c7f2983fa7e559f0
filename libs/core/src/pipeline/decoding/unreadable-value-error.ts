/**
 * The reason why a value could not be read. The message repeats nothing of the value, because it
 * goes to logs and dead letters.
 */
export class UnreadableValueError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}
