import { awaitable } from './awaitable.js';
import type { NestContainer } from '@nestjs/core';
import { EnhancedCall } from './enhanced-call.js';
import { isEnhanced, type EnhancerScope } from './enhancers.js';
import type { HandlerHost, ScopedHost, StaticHost } from '../exploring/handler-host.js';
import { requestOf } from './host-request.js';
import { NestContexts } from './nest-contexts.js';
import { parameterValue, type HandlerArguments } from './parameter-value.js';
import { declaredParameters, type DeclaredParameter } from '../decorators/parameters.js';

export type HandlerCall = (args: HandlerArguments) => unknown;

/** A handler method and its host. `origin` names it in messages. */
export interface HandlerMethod {
  readonly host: HandlerHost;
  readonly method: string;
  readonly origin: string;
}

type Instance = Readonly<{ [method: string]: (...args: readonly unknown[]) => unknown }>;

/**
 * Creates the call of a handler method. Nest's context creators are used only if enhancers are
 * declared, since they make each call slower.
 */
export function handlerCall(
  container: NestContainer,
  handler: HandlerMethod,
  scope: EnhancerScope,
): HandlerCall {
  const { host } = handler;
  const isPlain = scope === 'local' && !isEnhanced(host, handler.method);
  const contexts = isPlain ? undefined : new NestContexts(container, scope, host, handler.method);
  return host.kind === 'static'
    ? staticCall(handler, host, contexts)
    : scopedCall(handler, host, contexts);
}

function staticCall(
  { host, method, origin }: HandlerMethod,
  { instance }: StaticHost,
  contexts: NestContexts | undefined,
): HandlerCall {
  if (!contexts) return plainCall(instance, method, declaredParameters(host.type, method));
  const callback = callbackOf(instance, method);
  const call = new EnhancedCall(contexts, { instance, callback, contextId: undefined }, origin);
  return (args) => call.invoke(args);
}

function scopedCall(
  { host: { type }, method, origin }: HandlerMethod,
  host: ScopedHost,
  contexts: NestContexts | undefined,
): HandlerCall {
  const parameters = declaredParameters(type, method);
  return async (args) => {
    const { instance, contextId } = await host.resolve(requestOf(args));
    if (!contexts) return plainCall(instance, method, parameters)(args);
    const callback = callbackOf(instance, method);
    return new EnhancedCall(contexts, { instance, callback, contextId }, origin).invoke(args);
  };
}

/** Looks the method up for each call, so that a spy or a proxy that is installed later is called, too. */
function plainCall(
  host: object,
  method: string,
  parameters: readonly DeclaredParameter[],
): HandlerCall {
  const instance = host as Instance;
  if (parameters.length === 0) return (args) => awaitable(instance[method]!(args[0], args[1]));
  return (args) => awaitable(instance[method]!(...namedArguments(parameters, args)));
}

function namedArguments(
  parameters: readonly DeclaredParameter[],
  args: HandlerArguments,
): readonly unknown[] {
  const named: unknown[] = [];
  for (const { index, name, field } of parameters) {
    named[index] = name && parameterValue(name, field, args);
  }
  return named;
}

function callbackOf(instance: object, method: string): (...args: unknown[]) => unknown {
  return (instance as Instance)[method]!;
}
