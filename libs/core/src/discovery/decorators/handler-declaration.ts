import { DeclarationList } from './declaration-list.js';
import type { EventHandlerOptions } from './handler-options.js';
import { warnWithoutBus } from './host-without-bus.js';
import { nameFirstParameter } from './parameters.js';
import { decoratedMethod, type DecoratedMember } from '../exploring/misplaced-decorator.js';

/** Declaration of `@EventHandler` on a method. */
export interface HandlerDeclaration {
  readonly binding: string;
  readonly form: 'record' | 'slice';
  readonly options: EventHandlerOptions;
}

const handlers = new DeclarationList<HandlerDeclaration>('event-handler');

export function declareHandler(declaration: HandlerDeclaration): DecoratedMember {
  const name = declaration.form === 'slice' ? '@EventHandler.Batch' : '@EventHandler';
  return (target, key, descriptor) => {
    const method = decoratedMethod(`${name}('${declaration.binding}')`, target, key, descriptor);
    if (!method) return;
    handlers.add(declaration, method);
    warnWithoutBus(target);
    nameFirstParameter(target, key, method);
  };
}

export function handlerDeclarations(method: object): readonly HandlerDeclaration[] {
  return handlers.of(method);
}
