import type {
  DltAlertHandler,
  DltRecordHandler,
} from '../../model/extension-points/handler-interfaces.js';
import type { DltRecord } from '../../model/records/dlt-record.js';
import { DeclarationList } from './declaration-list.js';
import type { BindingName } from './event-bus-bindings.js';
import { decoratedMethod } from '../exploring/misplaced-decorator.js';

export type DltRole = 'handler' | 'alert';

/** Declaration of `@DltHandler` or `@DltAlert` on a method or a class. */
export interface DltDeclaration {
  /** Name of the binding; undefined means every binding. */
  readonly binding: string | undefined;
  /** Alias of the cluster; undefined means any cluster. */
  readonly cluster: string | undefined;
}

/** Selects the binding whose dead letters are handled, besides its name. */
export interface DeadLettersOf {
  /** Needed if bindings on several clusters have the name, and only the one of this cluster is meant. */
  readonly cluster?: string;
}

interface DltDecoratorKind {
  readonly decorator: string;
  readonly declared: DeclarationList<DltDeclaration>;
  /** Method that a class with the decorator must have. */
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

/** Handles the dead letters of a binding. On a method, or on a class that implements DltRecordHandler. */
export function DltHandler(
  binding: BindingName,
  { cluster }: DeadLettersOf = {},
): DltDecorator<DltRecordHandler> {
  return declareDlt('handler', { binding, cluster });
}

/**
 * Called with the dead letters of a binding, or of all bindings. On a method, or on a class that
 * implements DltAlertHandler.
 */
export function DltAlert(
  binding?: BindingName,
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
    if (carrier) declared.add(declaration, carrier);
  };
}
