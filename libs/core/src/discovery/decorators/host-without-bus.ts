// oxlint-disable-next-line import/no-unassigned-import -- it extends Reflect
import 'reflect-metadata';
import { Logger } from '@nestjs/common';

const HOOK = 'onApplicationBootstrap';

/** Marks an instance in an application with an event bus. All copies of this package share it. */
const FOUND = Symbol.for('nest-event-bus:found-by-bus');
/** Marks a class that has the check already. */
const CHECKED = Symbol.for('nest-event-bus:checks-for-bus');

type Hook = (this: object) => unknown;

/** Remembers that the application of this instance has an event bus. */
export function markAsFound(instance: unknown): void {
  if (typeof instance !== 'object' || instance === null) return;
  if (Reflect.hasMetadata(CHECKED, instance)) Reflect.defineMetadata(FOUND, true, instance);
}

/**
 * Makes the class warn at the start of an application that has no event bus.
 * Without a bus nothing else of this library runs, so only the class itself can say that its records
 * are not read.
 */
export function warnWithoutBus(prototype: object): void {
  if (Reflect.hasOwnMetadata(CHECKED, prototype)) return;
  Reflect.defineMetadata(CHECKED, true, prototype);
  const own = Object.getOwnPropertyDescriptor(prototype, HOOK)?.value as Hook | undefined;
  const inherited = (): Hook | undefined => Reflect.get(Object.getPrototypeOf(prototype), HOOK);
  Object.defineProperty(prototype, HOOK, {
    configurable: true,
    writable: true,
    enumerable: false,
    value(this: object): unknown {
      warnUnlessFound(this);
      return (own ?? inherited())?.call(this);
    },
  });
}

function warnUnlessFound(instance: object): void {
  if (Reflect.hasMetadata(FOUND, instance)) return;
  // A base class may have the same check.
  markAsFound(instance);
  new Logger('EventBus').warn(
    `${instance.constructor.name} has handlers of the event bus, but there is no event bus in this application: no record is read. Import EventBusModule.forRoot in the root module.`,
  );
}
