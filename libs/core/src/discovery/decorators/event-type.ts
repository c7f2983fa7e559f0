const SUFFIX = 'Event';

/** `PasswordChanged` and `PasswordChangedEvent` are one type. Everything else, case included, tells types apart. */
export function normaliseEventType(type: string): string {
  return type.length > SUFFIX.length && type.endsWith(SUFFIX)
    ? type.slice(0, -SUFFIX.length)
    : type;
}
