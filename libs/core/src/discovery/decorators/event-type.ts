const SUFFIX = 'Event';

/**
 * Removes the suffix: `PasswordChanged` and `PasswordChangedEvent` are the same type. Any other
 * difference, also of case, makes a different type.
 */
export function normaliseEventType(type: string): string {
  return type.length > SUFFIX.length && type.endsWith(SUFFIX)
    ? type.slice(0, -SUFFIX.length)
    : type;
}
