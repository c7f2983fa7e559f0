import type { PipeTransform, Type } from '@nestjs/common';
// oxlint-disable-next-line import/no-unassigned-import -- it extends Reflect
import 'reflect-metadata';
import { BODY_PARAMETER, CUSTOM_PARAMETER, PARAMETERS_KEY } from '../exploring/nest-metadata.js';
import type { ParameterName } from '../calling/parameter-value.js';

export type ParameterPipe = PipeTransform | Type<PipeTransform>;

/** Above all numbers that Nest's own decorators have. */
const NUMBERS: Readonly<Record<ParameterName, number>> = Object.freeze({
  payload: BODY_PARAMETER,
  key: 7101,
  header: 7102,
  headers: 7103,
  context: 7104,
  record: 7105,
});

const NAMES: ReadonlyMap<number, ParameterName> = new Map(
  Object.entries(NUMBERS).map(([name, number]) => [number, name as ParameterName]),
);

/** The value of the record, or one field of it. A handler of batches gets an array of them. */
export function Payload(field?: string | ParameterPipe, ...pipes: ParameterPipe[]) {
  return typeof field === 'string' || field === undefined
    ? parameter('payload', field, pipes)
    : parameter('payload', undefined, [field, ...pipes]);
}

/** The key as text, or null. */
export function Key(...pipes: ParameterPipe[]): ParameterDecorator {
  return parameter('key', undefined, pipes);
}

/** The last value of a header as text. */
export function Header(name: string, ...pipes: ParameterPipe[]): ParameterDecorator {
  return parameter('header', name, pipes);
}

export function Headers(): ParameterDecorator {
  return parameter('headers', undefined, []);
}

/** The EventContext. */
export function Ctx(): ParameterDecorator {
  return parameter('context', undefined, []);
}

/** The EventRecord. Not called Record: that would hide a type of TypeScript. */
export function FullRecord(): ParameterDecorator {
  return parameter('record', undefined, []);
}

/** How a parameter of a handler gets its value. */
export interface DeclaredParameter {
  readonly index: number;
  /** undefined: a decorator of somebody else, which only Nest can read. */
  readonly name: ParameterName | undefined;
  readonly field: string | undefined;
  readonly pipes: readonly unknown[];
  readonly isCustom: boolean;
}

export function declaredParameters(type: object, method: string): readonly DeclaredParameter[] {
  const entries = Reflect.getMetadata(PARAMETERS_KEY, type, method) as Entries | undefined;
  return Object.entries(entries ?? {}).map(([key, { index, data, pipes }]) => ({
    index,
    name: parameterName(key.split(':')[0]),
    field: data as string | undefined,
    pipes: pipes ?? [],
    isCustom: key.includes(CUSTOM_PARAMETER),
  }));
}

/** As if the parameters had these decorators. */
export function nameParametersUnlessNamed(
  type: { readonly prototype: object },
  method: string,
  names: readonly ParameterName[],
): void {
  if (declaredParameters(type, method).length > 0) return;
  names.forEach((name, index) => parameter(name, undefined, [])(type.prototype, method, index));
}

/** By the number under which Nest files it. */
export function parameterName(number: string | number | undefined): ParameterName | undefined {
  return NAMES.get(Number(number));
}

interface Entry {
  readonly index: number;
  readonly data?: unknown;
  readonly pipes?: readonly unknown[];
}

type Entries = Readonly<{ [key: string]: Entry }>;

function parameter(
  name: ParameterName,
  data: string | undefined,
  pipes: readonly ParameterPipe[],
): ParameterDecorator {
  return (target, method, index) => {
    if (method === undefined) return;
    const type = target.constructor;
    const entry: Entry = { index, data, pipes };
    // Only its own: a method that overrides another starts with none.
    const earlier = Reflect.getOwnMetadata(PARAMETERS_KEY, type, method) as Entries | undefined;
    const entries: Entries = { ...earlier, [`${NUMBERS[name]}:${index}`]: entry };
    Reflect.defineMetadata(PARAMETERS_KEY, entries, type, method);
  };
}

/** Decorators of another transport, such as `@Query()`: there is nothing they could be given. */
export function foreignParameters(type: object, method: string): readonly string[] {
  return declaredParameters(type, method)
    .filter(({ name, isCustom }) => name === undefined && !isCustom)
    .map(
      ({ index }) =>
        `its parameter ${index} has a decorator of another transport. Use @Payload, @Key, @Header, @Headers, @Ctx and @FullRecord of @nest-event-bus/core.`,
    );
}
