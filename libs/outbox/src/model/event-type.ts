import { IllegalArgumentError } from '../errors/argument-errors.js';

/** The type of an event. */
export interface EventType {
  readonly name: string;
}

/** The longest name of an event type that the schema can store. */
const MAX_LENGTH = 128;

/** An event type whose name is known only at run time. */
export class StringEventType implements EventType {
  private constructor(readonly name: string) {}

  static of(name: string): StringEventType {
    return new StringEventType(checkedName('event type', name, MAX_LENGTH));
  }
}

/**
 * Declares event types as constants: `defineEventTypes('USER_CREATED', 'USER_DELETED')` returns an
 * object with one event type for each name.
 */
export function defineEventTypes<const N extends string>(
  ...names: readonly N[]
): Readonly<Record<N, EventType>> {
  const types = names.map((name) => [name, Object.freeze(StringEventType.of(name))] as const);
  return Object.freeze(Object.fromEntries(types)) as Readonly<Record<N, EventType>>;
}

export const nameOfEventType = (type: EventType | string): string =>
  checkedName('event type', typeof type === 'string' ? type : type?.name, MAX_LENGTH);

/** Checks a name that is stored in a column of the given length. */
export function checkedName(what: string, name: unknown, maxLength: number): string {
  if (typeof name !== 'string' || name.trim() === '')
    throw new IllegalArgumentError(`The ${what} is missing. Pass a text that is not empty.`);
  if (name.length > maxLength)
    throw new IllegalArgumentError(
      `The ${what} has ${name.length} characters. Use at most ${maxLength}.`,
    );
  return name;
}
