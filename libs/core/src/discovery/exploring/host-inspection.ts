import type { NestContainer } from '@nestjs/core';
import { formatValue } from '../../config/reading/format-value.js';
import { HandlerDiscoveryException } from '../../errors/handler-errors.js';
import {
  DLT_PLACES,
  dltDeclarationsOfClass,
  dltDeclarationsOfMethod,
  type DltDeclaration,
  type DltRole,
} from '../decorators/dlt-decorators.js';
import {
  eventListenerDeclarations,
  type EventListenerDeclaration,
} from '../decorators/on-event-bus.js';
import type { EventBusEvent } from '../../model/events/event-bus-events.js';
import { missingEnhancers, scopedGlobals } from '../calling/declared-enhancers.js';
import type { EnhancerScope } from '../calling/enhancer-scope.js';
import type { EventHandlerOptions } from '../decorators/handler-options.js';
import { handlerCall, type HandlerCall } from '../calling/handler-call.js';
import { handlerDeclarations } from '../decorators/handler-declaration.js';
import type { HandlerDefinition } from './handler-definition.js';
import type { DltHandlerDefinition } from './dlt-handler-definition.js';
import {
  eventListenerProblems,
  type EventListenerDefinition,
} from './event-listener-definition.js';
import { describeHandler, type HandlerDescription } from '../calling/handler-functions.js';
import type { HandlerHost } from './handler-host.js';
import { eventTypeHandlerDeclarations } from '../decorators/handles-events.js';
import { misplacedDecorators } from './misplaced-decorator.js';
import { dltProblems, isName, optionProblems } from './option-problems.js';
import {
  foreignParameters,
  misdeclaredParameters,
  undecoratedParameters,
} from '../decorators/parameters.js';

const EVENT_TYPE_HANDLER_METHODS = ['getEventType', 'handleEvent'];

/** Collects the handlers that one provider or controller declares, and their errors. */
export class HostInspection {
  readonly handlers: HandlerDefinition[] = [];
  readonly dltHandlers: DltHandlerDefinition[] = [];
  readonly dltAlerts: DltHandlerDefinition[] = [];
  readonly eventListeners: EventListenerDefinition[] = [];
  readonly problems: string[] = [];
  readonly #dltCalls = new Map<string, DltHandlerDefinition['invoke']>();

  constructor(
    private readonly container: NestContainer,
    readonly host: HandlerHost,
    methods: readonly string[],
  ) {
    this.problems.push(...misplacedDecorators(host.type));
    for (const method of methods) this.#inspectMethod(method);
    this.#inspectClass();
  }

  get isEmpty(): boolean {
    const { handlers, dltHandlers, dltAlerts, eventListeners, problems } = this;
    const found = [handlers, dltHandlers, dltAlerts, eventListeners, problems];
    return found.every(({ length }) => length === 0);
  }

  #inspectMethod(method: string): void {
    const carrier = this.host.prototype[method] as object;
    for (const { binding, form, options } of handlerDeclarations(carrier)) {
      this.#addHandler(method, binding, form, options);
    }
    for (const role of ['handler', 'alert'] as const) {
      this.#addDlt(role, method, dltDeclarationsOfMethod(role, carrier));
    }
    for (const declaration of eventListenerDeclarations(carrier))
      this.#addEventListener(method, declaration);
  }

  #inspectClass(): void {
    const { type } = this.host;
    for (const { binding, options } of eventTypeHandlerDeclarations(type)) {
      const eventType = this.#eventType(binding);
      if (eventType === undefined) continue;
      this.#addHandler('handleEvent', binding, 'record', { ...options, type: eventType });
    }
    for (const role of ['handler', 'alert'] as const) {
      const { decorator, method } = DLT_PLACES[role];
      const declared = dltDeclarationsOfClass(role, type);
      if (declared.length > 0 && this.#hasMethods(decorator, [method])) {
        this.#addDlt(role, method, declared);
      }
    }
  }

  #addHandler(
    method: string,
    binding: string,
    form: HandlerDefinition['form'],
    options: EventHandlerOptions,
  ): void {
    const origin = this.#origin(method);
    const problems = [
      ...optionProblems(binding, options),
      ...foreignParameters(this.host.type, method),
      ...undecoratedParameters(this.host.type, method, this.host.prototype[method] as object),
      ...misdeclaredParameters(this.host, method, form),
      ...missingEnhancers(this.container, this.host, method),
    ];
    this.problems.push(...problems.map((problem) => `${origin}: ${problem}`));
    const description = describeHandler(binding, form, origin, options);
    if (problems.length > 0) {
      this.#addInvalid(description);
      return;
    }
    const invokeWith = (scope: EnhancerScope) => this.#invoke(method, form, scope);
    this.handlers.push({ ...description, invoke: invokeWith('local'), invokeWith });
  }

  /**
   * Adds a handler that has an error, so that the options of its binding are still validated. The
   * handler is never called, because the start fails.
   */
  #addInvalid(description: HandlerDescription): void {
    if (isName(description.binding))
      this.handlers.push({ ...description, invoke: () => undefined });
  }

  #invoke(
    method: string,
    form: HandlerDefinition['form'],
    scope: EnhancerScope,
  ): HandlerDefinition['invoke'] {
    this.#refuseScopedGlobals(method, scope);
    const call = this.#call(method, scope);
    return form === 'slice'
      ? (records, contexts) => call([records, contexts])
      : (records, contexts) => call([records[0]!, contexts[0]!]);
  }

  /**
   * Refuses request-scoped global enhancers, because they have no instance in a singleton: a guard
   * that is never called would let every record pass.
   */
  #refuseScopedGlobals(method: string, scope: EnhancerScope): void {
    if (scope === 'local' || this.host.kind === 'scoped') return;
    const kinds = scopedGlobals(this.container);
    if (kinds.length === 0) return;
    throw new HandlerDiscoveryException([
      `${this.#origin(method)}: its binding has enhancers: 'all', but the application has request-scoped or transient global ${kinds.join(' and ')}, which Nest creates for controllers only. Make them singletons, or ${this.host.type.name} request-scoped, or use enhancers: 'local'.`,
    ]);
  }

  #addDlt(role: DltRole, method: string, declared: readonly DltDeclaration[]): void {
    const origin = this.#origin(method);
    const target = role === 'handler' ? this.dltHandlers : this.dltAlerts;
    for (const declaration of declared) {
      const problems = dltProblems(role, declaration);
      this.problems.push(...problems.map((problem) => `${origin}: ${problem}`));
      if (problems.length > 0) continue;
      const invoke = this.#dltCalls.get(method) ?? this.#dltCall(method);
      this.#dltCalls.set(method, invoke);
      target.push({ ...declaration, origin, invoke });
    }
  }

  #addEventListener(method: string, declaration: EventListenerDeclaration): void {
    const { host } = this;
    const origin = this.#origin(method);
    const problems = eventListenerProblems(declaration);
    this.problems.push(...problems.map((problem) => `${origin}: ${problem}`));
    if (problems.length > 0) return;
    if (host.kind === 'scoped') {
      this.problems.push(
        `${origin}: a listener for events has no request, so its class must be a singleton. Move the method to one.`,
      );
      return;
    }
    const handle = (event: EventBusEvent): unknown => callMethod(host.instance, method, event);
    this.eventListeners.push({ ...declaration, origin, handle });
  }

  /**
   * Returns a direct call of the method: a dead letter is not a record of the binding, so enhancers
   * and parameter decorators do not apply.
   */
  #dltCall(method: string): DltHandlerDefinition['invoke'] {
    const { host } = this;
    if (host.kind === 'static') return (record) => callMethod(host.instance, method, record);
    return async (record) => {
      const { instance } = await host.resolve({ record });
      return callMethod(instance, method, record);
    };
  }

  #call(method: string, scope: EnhancerScope): HandlerCall {
    const { host, container } = this;
    return handlerCall(container, { host, method, origin: this.#origin(method) }, scope);
  }

  #eventType(binding: string): string | undefined {
    const { host } = this;
    if (!this.#hasMethods(`@HandlesEvents('${binding}')`, EVENT_TYPE_HANDLER_METHODS)) return;
    if (host.kind === 'scoped') {
      this.problems.push(
        `${host.type.name} in ${host.module} is created per record, but its event type must be known at startup. Make it a singleton, or use @EventHandler('${binding}', { type }).`,
      );
      return;
    }
    return this.#callGetEventType(host.instance);
  }

  #callGetEventType(instance: object): string | undefined {
    const { name } = this.host.type;
    try {
      const type = callMethod(instance, 'getEventType');
      if (typeof type === 'string' && type !== '') return type;
      this.problems.push(
        `${name}.getEventType() must return the name of a type, but returned ${formatValue(type)}. Return a text that is not empty, or use @EventHandler on a method.`,
      );
    } catch (error) {
      this.problems.push(
        `${name}.getEventType() threw: ${String(error)}. It is called at startup: let it return a constant.`,
      );
    }
    return undefined;
  }

  #hasMethods(decorator: string, methods: readonly string[]): boolean {
    const { prototype, type, module } = this.host;
    const missing = methods.filter((method) => typeof prototype[method] !== 'function');
    if (missing.length === 0) return true;
    this.problems.push(
      `${type.name} in ${module} carries ${decorator} but has no method ${missing.join(' and ')}. Add it, or remove the decorator.`,
    );
    return false;
  }

  #origin(method: string): string {
    return `${this.host.type.name}.${method} in ${this.host.module}`;
  }
}

function callMethod(instance: object, method: string, ...args: readonly unknown[]): unknown {
  return (instance as { [name: string]: (...args: readonly unknown[]) => unknown })[method]!(
    ...args,
  );
}
