import type { Type } from '@nestjs/common';
import type { DiscoveryService } from '@nestjs/core';
import type { BindingName } from '../model/states/event-bus-bindings.js';
import { isEnhanced } from '../discovery/calling/declared-enhancers.js';
import { handlerConflicts } from '../discovery/exploring/handler-conflicts.js';
import type { HandlerDefinition } from '../discovery/exploring/handler-definition.js';
import type { Discovered, DiscoveredHost } from '../discovery/exploring/handler-explorer.js';
import { handleMessage, messageHandler } from '../discovery/calling/handler-functions.js';
import {
  findHosts,
  type HandlerHost,
  type ScopedHost,
} from '../discovery/exploring/handler-host.js';
import { requestOf } from '../discovery/calling/host-request.js';
import { optionProblems } from '../discovery/exploring/option-problems.js';
import { declaredParameters } from '../discovery/decorators/parameters.js';
import type { PayloadType } from '../discovery/decorators/payload-type.js';
import { isPlainObject } from '../config/reading/plain-object.js';
import { HandlerDiscoveryException } from '../errors/handler-errors.js';
import type { MessageHandler } from '../model/extension-points/handler-interfaces.js';
import { suggestion } from '../model/nearest-name.js';

type InstanceWrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** A class that handles the messages of a binding, instead of a method with `@EventHandler`. */
export interface FeatureConsumer<Message = unknown> {
  readonly binding: BindingName;
  /** The cluster of the binding. If the binding is on another cluster, the consumer is refused. */
  readonly cluster?: string;
  /**
   * The event type that the consumer handles. If omitted, the consumer handles every type that no
   * other handler of the binding handles.
   */
  readonly type?: string;
  /**
   * A class with class-validator decorators, or a Standard Schema. The handler gets only valid
   * messages.
   */
  readonly message?: PayloadType<Message>;
  /**
   * The class of the handler. Nest creates it once or, if it is request-scoped, for each message.
   */
  readonly handler: Type<MessageHandler<NoInfer<Message>>>;
}

const KEYS = Object.keys({
  binding: true,
  cluster: true,
  type: true,
  message: true,
  handler: true,
} satisfies Record<keyof FeatureConsumer, true>);

/** The consumers of one `EventBusModule.forFeature`. The bus finds them by this class. */
export class FeatureConsumers {
  /** Keeps the consumers without a check, because `findConsumers` validates them. */
  constructor(readonly given: unknown) {}
}

/**
 * Returns the classes that Nest can instantiate. Other values are omitted, because `findConsumers`
 * reports them.
 */
export function handlerClasses(consumers: unknown): readonly Type<unknown>[] {
  if (!Array.isArray(consumers)) return [];
  const handlers = consumers.map(
    (consumer: Partial<FeatureConsumer> | undefined) => consumer?.handler,
  );
  return [...new Set<unknown>(handlers)].filter(isClass);
}

export interface FoundConsumers {
  readonly handlers: readonly HandlerDefinition[];
  readonly hosts: readonly DiscoveredHost[];
  readonly hostIds: readonly string[];
  readonly problems: readonly string[];
}

/** Finds the consumers of all features, each with the instance that Nest created of its class. */
export function findConsumers(wrappers: readonly InstanceWrapper[]): FoundConsumers {
  const features = new Map<FeatureConsumers, InstanceWrapper>();
  for (const wrapper of wrappers) {
    const instance: unknown = wrapper.instance;
    if (instance instanceof FeatureConsumers) features.set(instance, wrapper);
  }
  const consumers = [...features].flatMap(([{ given }, { host }]) => consumersOf(given, host));
  return {
    handlers: consumers.flatMap(({ handlers }) => handlers),
    hosts: consumers.flatMap(({ hosts }) => hosts),
    hostIds: consumers.flatMap(({ hostIds }) => hostIds),
    problems: consumers.flatMap(({ problems }) => problems),
  };
}

/** Adds the consumers to the decorated methods, and checks both together for conflicts. */
export function withConsumers(explored: Discovered, consumers: FoundConsumers): Discovered {
  const handlers = [...explored.handlers, ...consumers.handlers];
  // The explorer has already reported conflicts among the decorated methods.
  const compared = explored.problems.length > 0 ? consumers.handlers : handlers;
  return {
    ...explored,
    handlers,
    hosts: withoutDuplicates([...explored.hosts, ...consumers.hosts]),
    hostIds: [...new Set([...explored.hostIds, ...consumers.hostIds])],
    problems: [...explored.problems, ...consumers.problems, ...handlerConflicts(compared)],
  };
}

function consumersOf(given: unknown, module: InstanceWrapper['host']): readonly FoundConsumers[] {
  if (given === undefined) return [];
  if (!Array.isArray(given)) {
    return [
      invalid([
        'EventBusModule.forFeature: its consumers are not a list. Write consumers: [{ binding, message, handler }].',
      ]),
    ];
  }
  return given.map((consumer: unknown, index) => {
    const problems = descriptionProblems(consumer);
    const inspected =
      problems.length > 0
        ? invalid(problems)
        : inspect(
            consumer as FeatureConsumer,
            module?.providers.get((consumer as FeatureConsumer).handler),
          );
    const at = `EventBusModule.forFeature, consumers[${index}]`;
    return { ...inspected, problems: inspected.problems.map((problem) => `${at}: ${problem}`) };
  });
}

/**
 * Checks at run time what the compiler checks in TypeScript, because JavaScript and casts bypass
 * the compiler.
 */
function descriptionProblems(consumer: unknown): readonly string[] {
  if (!isPlainObject(consumer)) return ['it is not an object like { binding, message, handler }.'];
  const { binding, cluster, type, message, handler } = consumer;
  const unknown = Object.keys(consumer).filter((key) => !KEYS.includes(key));
  return [
    ...unknown.map((key) => `it has an unknown key '${key}'. ${suggestion(key, KEYS)}`),
    ...optionProblems(binding, { type }),
    ...(message === undefined ? [] : messageProblems(message)),
    ...(cluster === undefined || (typeof cluster === 'string' && cluster !== '')
      ? []
      : ['its cluster is not a name.']),
    ...(isClass(handler) ? [] : [notAClass(handler)]),
  ];
}

function notAClass(handler: unknown): string {
  const hint =
    handler === undefined ? ' It is undefined: do the files import each other in a circle?' : '';
  return `its handler is not a class. Name one with a method handle(message, metadata); Nest creates its instance.${hint}`;
}

function messageProblems(message: unknown): readonly string[] {
  if (optionProblems('any', { payload: message }).length === 0) return [];
  return ['its message is neither a class nor a Standard Schema.'];
}

function inspect(
  { binding, cluster, type, message, handler }: FeatureConsumer,
  wrapper: InstanceWrapper | undefined,
): FoundConsumers {
  if (!wrapper) return invalid([`Nest has no provider ${handler.name} in its feature.`]);
  const [host] = findHosts([wrapper]);
  const scoped = host?.kind === 'scoped' ? host : undefined;
  // A test may have replaced the provider by any object, and then there is no host.
  const target = scoped ? scoped.prototype : (wrapper.instance as unknown);
  if (!isMessageHandler(target)) return invalid([missingHandle(handler, scoped)]);
  const problems = host ? callProblems(host, target) : [];
  if (problems.length > 0) return invalid(problems);
  const options = { cluster, type, payload: message };
  const definition = messageHandler(binding, target, options);
  const invoke = scoped ? scopedInvoke(scoped) : definition.invoke;
  return {
    handlers: [
      { ...definition, invoke, invokeWith: rejectGlobalEnhancers(definition.origin, invoke) },
    ],
    hosts: scoped ? [] : [{ instance: target, module: wrapper.host?.name ?? 'EventBusModule' }],
    hostIds: [wrapper.id],
    problems: [],
  };
}

/**
 * Creates the handler for each record. REQUEST injects the record with its context, as it does for
 * decorated methods of request-scoped providers.
 */
function scopedInvoke(host: ScopedHost): HandlerDefinition['invoke'] {
  return async ([record], [context]) => {
    const { instance } = await host.resolve(requestOf([record!, context!]));
    return handleMessage(instance as MessageHandler, record!, context!);
  };
}

function missingHandle({ name }: Type, scoped: ScopedHost | undefined): string {
  const place = scoped ? ' on its prototype: it is created per message, but checked before' : '';
  return `${name} has no method handle(message, metadata)${place}.`;
}

/**
 * Refuses decorators that have no effect on a consumer. Otherwise a guard that is never called
 * would let every message pass, and a parameter would get the wrong value.
 */
function callProblems(host: HandlerHost, { handle }: MessageHandler): readonly string[] {
  const { name } = host.type;
  const instead = 'Use a method with @EventHandler instead, or take them out.';
  // The handler may be a property of the instance, like an arrow function.
  if (isEnhanced({ ...host, prototype: { handle } }, 'handle')) {
    return [
      `${name}.handle has guards, interceptors, pipes or filters, which a consumer is called without. ${instead}`,
    ];
  }
  if (declaredParameters(host.type, 'handle').length > 0) {
    return [
      `${name}.handle has parameter decorators, but it gets the message and its metadata. ${instead}`,
    ];
  }
  return [];
}

function rejectGlobalEnhancers(
  origin: string,
  invoke: HandlerDefinition['invoke'],
): NonNullable<HandlerDefinition['invokeWith']> {
  return (scope) => {
    if (scope === 'local') return invoke;
    throw new HandlerDiscoveryException([
      `${origin}: its binding has enhancers: 'all', but a consumer is called without guards, interceptors, pipes and filters. Use a method with @EventHandler, or enhancers: 'local'.`,
    ]);
  };
}

function invalid(problems: readonly string[]): FoundConsumers {
  return { handlers: [], hosts: [], hostIds: [], problems };
}

function isMessageHandler(value: unknown): value is MessageHandler {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as Partial<MessageHandler>).handle === 'function'
  );
}

/** Returns whether the value is a class. Arrow functions and methods have no prototype. */
function isClass(value: unknown): value is Type<unknown> {
  return typeof value === 'function' && typeof value.prototype === 'object';
}

/**
 * Keeps one host per instance, because a class may have several consumers, and decorated methods as
 * well.
 */
function withoutDuplicates(hosts: readonly DiscoveredHost[]): readonly DiscoveredHost[] {
  return [...new Map(hosts.map((host) => [host.instance, host])).values()];
}
