/** A builder misses a required field. */
export class RequiredFieldError extends TypeError {
  readonly code = 'OUTBOX_FIELD_REQUIRED';
  readonly retriable = false;

  constructor(builder: string, field: string) {
    super(`${builder} misses ${field}. Call ${field}() before build().`);
    this.name = 'RequiredFieldError';
  }
}

/** Returns the value of a field that a builder cannot do without. */
export function required<T>(builder: string, field: string, value: T): NonNullable<T> {
  if (value === null || value === undefined) throw new RequiredFieldError(builder, field);
  return value;
}
