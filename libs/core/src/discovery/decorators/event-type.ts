const SUFFIX = 'Event';

/**
 * Removes the suffix `Event`: `PasswordChanged` and `PasswordChangedEvent` are the same type. Types
 * with any other difference, also in case, are different types.
 */
export function normaliseEventType(type: string): string {
  return type.length > SUFFIX.length && type.endsWith(SUFFIX)
    ? type.slice(0, -SUFFIX.length)
    : type;
}
