import type {
  DltAlertHandler,
  DltRecordHandler,
} from '../../model/extension-points/handler-interfaces.js';
import type { DltRecord } from '../../model/records/dlt-record.js';
import { DeclarationList } from './declaration-list.js';
import type { AnyBindingName, NameCheck } from '../../model/states/event-bus-bindings.js';
import { warnWithoutBus } from './host-without-bus.js';
import { decoratedMethod } from '../exploring/misplaced-decorator.js';

export type DltRole = 'handler' | 'alert';

/** Declaration of `@DltHandler` or `@DltAlert` on a method or a class. */
export interface DltDeclaration {
  /** Name of the binding; undefined means every binding. */
  readonly binding: string | undefined;
  /** Alias of the cluster; undefined means any cluster. */
  readonly cluster: string | undefined;
}

/**
 * Selects the binding whose dead letters a method or class handles, in addition to the binding's
 * name.
 */
export interface DeadLettersOf {
  /**
   * Alias of the cluster. It is needed if bindings on several clusters have the same name and only
   * one of them is meant.
   */
  readonly cluster?: string;
}

interface DltDecoratorKind {
  readonly decorator: string;
  readonly declared: DeclarationList<DltDeclaration>;
  /** Name of the method that a class with the decorator must have. */
  readonly method: string;
}

export const DLT_PLACES: Readonly<Record<DltRole, DltDecoratorKind>> = Object.freeze({
  handler: {
    decorator: '@DltHandler',
    declared: new DeclarationList<DltDeclaration>('dlt-handler'),
    method: 'handle',
  },
  alert: {
    decorator: '@DltAlert',
    declared: new DeclarationList<DltDeclaration>('dlt-alert'),
    method: 'onDeadLetter',
  },
});

interface DltDecorator<Implementer> {
  (type: new (...args: never[]) => Implementer): void;
  <T extends (record: DltRecord) => unknown>(
    target: object,
    key: string | symbol,
    descriptor: TypedPropertyDescriptor<T>,
  ): void;
}

/**
 * Makes a method handle the dead letters of a binding. It also decorates a class that implements
 * DltRecordHandler.
 */
export function DltHandler<Name extends AnyBindingName>(
  binding: Name & NameCheck<Name>,
  { cluster }: DeadLettersOf = {},
): DltDecorator<DltRecordHandler> {
  return declareDlt('handler', { binding, cluster });
}

/**
 * Calls a method with the dead letters of a binding, or of all bindings. It also decorates a class
 * that implements DltAlertHandler.
 */
export function DltAlert<Name extends AnyBindingName>(
  binding?: Name & NameCheck<Name>,
  { cluster }: DeadLettersOf = {},
): DltDecorator<DltAlertHandler> {
  return declareDlt('alert', { binding, cluster });
}

export function dltDeclarationsOfMethod(role: DltRole, method: object): readonly DltDeclaration[] {
  return DLT_PLACES[role].declared.of(method);
}

export function dltDeclarationsOfClass(role: DltRole, type: object): readonly DltDeclaration[] {
  return DLT_PLACES[role].declared.nearest(type);
}

function declareDlt(role: DltRole, declaration: DltDeclaration) {
  const { decorator, declared } = DLT_PLACES[role];
  return (target: object, member?: string | symbol, descriptor?: PropertyDescriptor): void => {
    const carrier =
      member === undefined ? target : decoratedMethod(decorator, target, member, descriptor);
    if (!carrier) return;
    declared.add(declaration, carrier);
    warnWithoutBus(typeof target === 'function' ? (target.prototype as object) : target);
  };
}
