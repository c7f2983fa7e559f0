import type { PipeTransform, Type } from '@nestjs/common';
// oxlint-disable-next-line import/no-unassigned-import -- it extends Reflect
import 'reflect-metadata';
import { BODY_PARAMETER, CUSTOM_PARAMETER, PARAMETERS_KEY } from '../exploring/nest-metadata.js';
import type { ParameterName } from '../calling/parameter-value.js';

export type ParameterPipe = PipeTransform | Type<PipeTransform>;

/** Parameter types, with numbers above those of Nest's own decorators. */
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

/** Injects the value of the record, or one field of it. A batch handler gets an array. */
export function Payload(field?: string | ParameterPipe, ...pipes: ParameterPipe[]) {
  return typeof field === 'string' || field === undefined
    ? parameter('payload', field, pipes)
    : parameter('payload', undefined, [field, ...pipes]);
}

/** Injects the key as text, or null. */
export function Key(...pipes: ParameterPipe[]): ParameterDecorator {
  return parameter('key', undefined, pipes);
}

/** Injects the last value of a header as text. */
export function Header(name: string, ...pipes: ParameterPipe[]): ParameterDecorator {
  return parameter('header', name, pipes);
}

export function Headers(): ParameterDecorator {
  return parameter('headers', undefined, []);
}

/** Injects the EventContext. */
export function Ctx(): ParameterDecorator {
  return parameter('context', undefined, []);
}

/** Injects the EventRecord. Not called `Record`, which would hide TypeScript's own type. */
export function FullRecord(): ParameterDecorator {
  return parameter('record', undefined, []);
}

/** A decorated parameter of a handler: its position, and the source of its value. */
export interface DeclaredParameter {
  readonly index: number;
  /** Source of the value; undefined for a decorator of another package, which only Nest can read. */
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

/** Declares the parameters as if they were decorated, unless the method has parameter decorators. */
export function nameParametersUnlessNamed(
  type: { readonly prototype: object },
  method: string,
  names: readonly ParameterName[],
): void {
  if (declaredParameters(type, method).length > 0) return;
  names.forEach((name, index) => parameter(name, undefined, [])(type.prototype, method, index));
}

/** Returns the name for the number under which Nest stores the parameter. */
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
    // Inherited metadata is left out, because a method that overrides another starts without parameters.
    const earlier = Reflect.getOwnMetadata(PARAMETERS_KEY, type, method) as Entries | undefined;
    const entries: Entries = { ...earlier, [`${NUMBERS[name]}:${index}`]: entry };
    Reflect.defineMetadata(PARAMETERS_KEY, entries, type, method);
  };
}

/**
 * Refuses parameter decorators of another transport, such as `@Query()`, because the bus has no
 * value for them.
 */
export function foreignParameters(type: object, method: string): readonly string[] {
  return declaredParameters(type, method)
    .filter(({ name, isCustom }) => name === undefined && !isCustom)
    .map(
      ({ index }) =>
        `its parameter ${index} has a decorator of another transport. Use @Payload, @Key, @Header, @Headers, @Ctx and @FullRecord of @nest-event-bus/core.`,
    );
}
