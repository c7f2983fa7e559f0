import { awaitable } from './awaitable.js';
import type { NestContainer } from '@nestjs/core';
import { EnhancedCall } from './enhanced-call.js';
import { isCalledWithEnhancers, type EnhancerScope } from './enhancer-scope.js';
import type { HandlerHost, ScopedHost, StaticHost } from '../exploring/handler-host.js';
import { requestOf } from './host-request.js';
import { NestContexts } from './nest-contexts.js';
import { parameterValue, type HandlerArguments } from './parameter-value.js';
import { declaredParameters, type DeclaredParameter } from '../decorators/parameters.js';

export type HandlerCall = (args: HandlerArguments) => unknown;

/** A handler method and its host. Messages name the method by `origin`. */
export interface HandlerMethod {
  readonly host: HandlerHost;
  readonly method: string;
  readonly origin: string;
}

type Instance = Readonly<{ [method: string]: (...args: readonly unknown[]) => unknown }>;

/**
 * Returns the call of a handler method. Nest's context creators are used only if enhancers are
 * declared, because they make each call slower.
 */
export function handlerCall(
  container: NestContainer,
  handler: HandlerMethod,
  scope: EnhancerScope,
): HandlerCall {
  const { host } = handler;
  const contexts = isCalledWithEnhancers(scope, host, handler.method)
    ? new NestContexts(container, scope, host, handler.method)
    : undefined;
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
  const call = new EnhancedCall(contexts, { instance, contextId: undefined }, origin);
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
    return new EnhancedCall(contexts, { instance, contextId }, origin).invoke(args);
  };
}

/**
 * Reads the method from its host for each call, so that a spy or a proxy that is installed later is
 * called.
 */
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
