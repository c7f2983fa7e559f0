import type { PipeTransform, Type } from '@nestjs/common';
// oxlint-disable-next-line import/no-unassigned-import -- it extends Reflect
import 'reflect-metadata';
import { BODY_PARAMETER, CUSTOM_PARAMETER, PARAMETERS_KEY } from '../exploring/nest-metadata.js';
import type { ParameterName } from '../calling/parameter-value.js';

export type ParameterPipe = PipeTransform | Type<PipeTransform>;

/** Numbers of the parameter types. They are above those of Nest's own decorators. */
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

/**
 * Injects the EventRecord. The decorator is not called `Record`, because that name would hide
 * TypeScript's own type.
 */
export function FullRecord(): ParameterDecorator {
  return parameter('record', undefined, []);
}

/** A decorated parameter of a handler: its position, and the source of its value. */
export interface DeclaredParameter {
  readonly index: number;
  /**
   * Source of the value; undefined for a decorator of another package, whose value only Nest can
   * determine.
   */
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

/**
 * Declares the parameters as if they had decorators, unless the method has parameter decorators.
 */
export function nameParametersUnlessNamed(
  type: { readonly prototype: object },
  method: string,
  names: readonly ParameterName[],
): void {
  if (declaredParameters(type, method).length > 0) return;
  names.forEach((name, index) => parameter(name, undefined, [])(type.prototype, method, index));
}

/**
 * Declares the first parameter as the record if only other parameters are decorated, because it is the
 * record in a handler without decorated parameters, too. Parameter decorators have run by then.
 */
export function nameFirstParameter(target: object, method: string | symbol, handler: object): void {
  const own = Reflect.getOwnMetadata(PARAMETERS_KEY, target.constructor, method) as
    Entries | undefined;
  const indexes = Object.values(own ?? {}).map(({ index }) => index);
  if (indexes.length === 0 || indexes.includes(0) || arityOf(handler) === 0) return;
  parameter('record', undefined, [])(target, method, 0);
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
    // Leaves out inherited metadata, because a method that overrides another method must declare
    // its own parameters.
    const earlier = Reflect.getOwnMetadata(PARAMETERS_KEY, type, method) as Entries | undefined;
    const entries: Entries = { ...earlier, [`${NUMBERS[name]}:${index}`]: entry };
    Reflect.defineMetadata(PARAMETERS_KEY, entries, type, method);
  };
}

/** Refuses parameters without a decorator beside decorated ones, because they would be undefined. */
export function undecoratedParameters(
  type: object,
  method: string,
  handler: object,
): readonly string[] {
  const declared = new Set(declaredParameters(type, method).map(({ index }) => index));
  if (declared.size === 0) return [];
  return Array.from({ length: arityOf(handler) }, (_, index) => index)
    .filter((index) => !declared.has(index))
    .map(
      (index) =>
        `its parameter ${index} has no decorator, but other parameters have one. Add @Ctx() for the context, @Payload() for the value, or @FullRecord() for the record.`,
    );
}

interface MethodOwner {
  readonly type: object;
  readonly prototype: Readonly<Record<string, unknown>>;
}

/**
 * Refuses parameters that get a record or a context, but are declared as a class, such as the payload.
 * The compiler cannot refuse them: it does not see which parameters have a decorator.
 */
export function misdeclaredParameters(
  { type, prototype }: MethodOwner,
  method: string,
  form: 'record' | 'slice',
): readonly string[] {
  const types = Reflect.getMetadata('design:paramtypes', prototype, method) as
    readonly unknown[] | undefined;
  const declared = declaredParameters(type, method);
  const expected: ReadonlySet<unknown> = new Set(
    form === 'slice' ? [undefined, Object, Array] : [undefined, Object],
  );
  const checked = (types ?? []).slice(0, Math.min(2, arityOf(prototype[method] as object)));
  return checked.flatMap((given, index) => {
    const name = declared.find((each) => each.index === index)?.name;
    const isRecord = index === 0 && declared.length === 0;
    const isContext = index === 1 && declared.length === 0;
    if (expected.has(given) || !(isRecord || isContext || name === 'record')) return [];
    return [misdeclared(index, (given as { readonly name: string }).name, isContext, form)];
  });
}

function misdeclared(
  index: number,
  given: string,
  isContext: boolean,
  form: 'record' | 'slice',
): string {
  const many = form === 'slice' ? '[]' : '';
  const what = isContext ? `EventContext${many}` : `EventRecord<...>${many}`;
  const wayOut =
    given === 'Array'
      ? 'Use @EventHandler.Batch for a handler of arrays'
      : `Declare it as ${what}, or add @Payload() to it if it takes the value`;
  return `its parameter ${index} is declared as ${given}, but gets ${what}. ${wayOut}.`;
}

/** Rest parameters, those with a default value, and those behind them are not counted. */
function arityOf(handler: object): number {
  return (handler as { readonly length: number }).length;
}

/**
 * Returns parameter decorators of another transport, such as `@Query()`, for which the bus has no
 * value.
 */
export function foreignParameters(type: object, method: string): readonly string[] {
  return declaredParameters(type, method)
    .filter(({ name, isCustom }) => name === undefined && !isCustom)
    .map(
      ({ index }) =>
        `its parameter ${index} has a decorator of another transport. Use @Payload, @Key, @Header, @Headers, @Ctx and @FullRecord of @nest-event-bus/core.`,
    );
}
