import { checkedName } from './event-type.js';

/** The type of the aggregate that an event is about. */
export interface AggregateType {
  readonly name: string;
}

/** The longest name of an aggregate type that the schema can store. */
const MAX_LENGTH = 64;

export const AggregateType = Object.freeze({
  /** The aggregate type of events that name none. */
  GLOBAL: Object.freeze({ name: '__GLOBAL__' }),
});

/** An aggregate type whose name is known only at run time. */
export class StringAggregateType implements AggregateType {
  private constructor(readonly name: string) {}

  static of(name: string): StringAggregateType {
    return new StringAggregateType(checkedName('aggregate type', name, MAX_LENGTH));
  }
}

/** Declares aggregate types as constants: `defineAggregateTypes('USER', 'ORDER')`. */
export function defineAggregateTypes<const N extends string>(
  ...names: readonly N[]
): Readonly<Record<N, AggregateType>> {
  const types = names.map((name) => [name, Object.freeze(StringAggregateType.of(name))] as const);
  return Object.freeze(Object.fromEntries(types)) as Readonly<Record<N, AggregateType>>;
}

export const nameOfAggregateType = (type: AggregateType | string): string =>
  checkedName('aggregate type', typeof type === 'string' ? type : type?.name, MAX_LENGTH);
