/** Why a value could not be read, in words that repeat nothing of it: they end up in logs and dead letters. */
export class UnreadableValueError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}
