import { DeclarationList } from '../decorators/declaration-list.js';

/**
 * Decorators on members that cannot be called. They are collected, so that the start reports all of
 * them at once.
 */
const misplaced = new DeclarationList<string>('misplaced');

export type DecoratedMember = (
  target: object,
  key: string | symbol,
  descriptor?: PropertyDescriptor,
) => void;

/**
 * Returns the decorated method. If the member is no method, notes the mistake on its class and
 * returns undefined.
 */
export function decoratedMethod(
  decorator: string,
  target: object,
  key: string | symbol,
  descriptor: PropertyDescriptor | undefined,
): object | undefined {
  const place = misplacement(target, descriptor);
  const method: unknown = descriptor?.value;
  if (place === undefined && typeof method === 'function') return method;
  const owner = typeof target === 'function' ? target : target.constructor;
  misplaced.add(describe(decorator, owner, key, place ?? 'a property'), owner);
  return undefined;
}

export function misplacedDecorators(type: object): readonly string[] {
  return misplaced.all(type);
}

function misplacement(
  target: object,
  descriptor: PropertyDescriptor | undefined,
): string | undefined {
  if (typeof target === 'function') return 'a static member';
  if (descriptor?.get ?? descriptor?.set) return 'an accessor';
  return undefined;
}

function describe(
  decorator: string,
  owner: { readonly name: string },
  key: string | symbol,
  place: string,
): string {
  return `${decorator} on ${owner.name}.${String(key)}: it is ${place}. Put the decorator on a method of the instance.`;
}
