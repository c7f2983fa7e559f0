import type {
  DltAlertHandler,
  DltRecordHandler,
} from '../../model/extension-points/handler-interfaces.js';
import type { DltRecord } from '../../model/records/dlt-record.js';
import { DeclarationList } from './declaration-list.js';
import type { BindingName } from './event-bus-bindings.js';
import { decoratedMethod } from '../exploring/misplaced-decorator.js';

export type DltRole = 'handler' | 'alert';

/** What `@DltHandler` or `@DltAlert` says about a method or a class. */
export interface DltDeclaration {
  /** undefined: of every binding. */
  readonly binding: string | undefined;
  /** undefined: of whatever cluster. */
  readonly cluster: string | undefined;
}

/** Whose dead letters are meant, besides the name of the binding. */
export interface DeadLettersOf {
  /** Needed where bindings of several clusters have the name, and only those of one are meant. */
  readonly cluster?: string;
}

interface DltPlace {
  readonly decorator: string;
  readonly declared: DeclarationList<DltDeclaration>;
  /** What a class must have that carries the decorator itself. */
  readonly method: string;
}

export const DLT_PLACES: Readonly<Record<DltRole, DltPlace>> = Object.freeze({
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

/** Is told of the dead letters of a binding, or of all. On a method, or on a class that implements DltAlertHandler. */
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
