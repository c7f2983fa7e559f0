import type { Type } from '@nestjs/common';
import type { DiscoveryService } from '@nestjs/core';
import type { BindingName } from '../discovery/decorators/event-bus-bindings.js';
import { isEnhanced } from '../discovery/calling/enhancers.js';
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
  /** Where the binding is thought to be: on another cluster it is refused. */
  readonly cluster?: string;
  /** The type of the events it takes; without one, every type that no other handler of the binding takes. */
  readonly type?: string;
  /** A class with class-validator decorators, or a Standard Schema: the handler gets nothing that does not fit. */
  readonly message?: PayloadType<Message>;
  /** Nest makes it, once or, if it is request-scoped, for each message. */
  readonly handler: Type<MessageHandler<NoInfer<Message>>>;
}

const KEYS = Object.keys({
  binding: true,
  cluster: true,
  type: true,
  message: true,
  handler: true,
} satisfies Record<keyof FeatureConsumer, true>);

/** The consumers of one `EventBusModule.forFeature`. The bus finds all of them by this class. */
export class FeatureConsumers {
  /** As they were given. */
  constructor(readonly given: unknown) {}
}

/** What Nest can make an instance of. What it cannot is reported with everything else that is wrong. */
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

/** The consumers of all features, each with what Nest made of its class. */
export function findConsumers(wrappers: readonly InstanceWrapper[]): FoundConsumers {
  const features = new Map<FeatureConsumers, InstanceWrapper>();
  for (const wrapper of wrappers) {
    const instance: unknown = wrapper.instance;
    if (instance instanceof FeatureConsumers) features.set(instance, wrapper);
  }
  const found = [...features].flatMap(([{ given }, { host }]) => consumersOf(given, host));
  return {
    handlers: found.flatMap(({ handlers }) => handlers),
    hosts: found.flatMap(({ hosts }) => hosts),
    hostIds: found.flatMap(({ hostIds }) => hostIds),
    problems: found.flatMap(({ problems }) => problems),
  };
}

/** Decorated methods and consumers go by the same rules. */
export function withConsumers(explored: Discovered, consumers: FoundConsumers): Discovered {
  const handlers = [...explored.handlers, ...consumers.handlers];
  // What is wrong among the decorated methods was found with them.
  const compared = explored.problems.length > 0 ? consumers.handlers : handlers;
  return {
    ...explored,
    handlers,
    hosts: firstOfEachInstance([...explored.hosts, ...consumers.hosts]),
    hostIds: [...new Set([...explored.hostIds, ...consumers.hostIds])],
    problems: [...explored.problems, ...consumers.problems, ...handlerConflicts(compared)],
  };
}

function consumersOf(given: unknown, module: InstanceWrapper['host']): readonly FoundConsumers[] {
  if (given === undefined) return [];
  if (!Array.isArray(given)) {
    return [
      wrong([
        'EventBusModule.forFeature: its consumers are no list. Write consumers: [{ binding, message, handler }].',
      ]),
    ];
  }
  return given.map((consumer: unknown, index) => {
    const problems = descriptionProblems(consumer);
    const found =
      problems.length > 0
        ? wrong(problems)
        : inspect(
            consumer as FeatureConsumer,
            module?.providers.get((consumer as FeatureConsumer).handler),
          );
    const at = `EventBusModule.forFeature, consumers[${index}]`;
    return { ...found, problems: found.problems.map((problem) => `${at}: ${problem}`) };
  });
}

/** What the compiler would have said: JavaScript and casts come here too. */
function descriptionProblems(consumer: unknown): readonly string[] {
  if (!isPlainObject(consumer)) return ['it is no { binding, message, handler }.'];
  const { binding, cluster, type, message, handler } = consumer;
  const unknown = Object.keys(consumer).filter((key) => !KEYS.includes(key));
  return [
    ...unknown.map((key) => `it has an unknown key '${key}'. ${suggestion(key, KEYS)}`),
    ...optionProblems(binding, { type }),
    ...(message === undefined ? [] : messageProblems(message)),
    ...(cluster === undefined || (typeof cluster === 'string' && cluster !== '')
      ? []
      : ['its cluster is not a name.']),
    ...(isClass(handler) ? [] : [noClass(handler)]),
  ];
}

function noClass(handler: unknown): string {
  const circle =
    handler === undefined ? ' It is undefined: do the files import each other in a circle?' : '';
  return `its handler is not a class. Name one with a method handle(message, metadata); Nest makes its instance.${circle}`;
}

function messageProblems(message: unknown): readonly string[] {
  if (optionProblems('any', { payload: message }).length === 0) return [];
  return ['its message is neither a class nor a Standard Schema.'];
}

function inspect(
  { binding, cluster, type, message, handler }: FeatureConsumer,
  wrapper: InstanceWrapper | undefined,
): FoundConsumers {
  if (!wrapper) return wrong([`Nest has no provider ${handler.name} in its feature.`]);
  const [host] = findHosts([wrapper]);
  const scoped = host?.kind === 'scoped' ? host : undefined;
  // A test may have put any object in the place of the class: then there is no host.
  const target = scoped ? scoped.prototype : (wrapper.instance as unknown);
  if (!isMessageHandler(target)) return wrong([withoutHandle(handler, scoped)]);
  const problems = host ? callProblems(host, target) : [];
  if (problems.length > 0) return wrong(problems);
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

/** As for a method of a request-scoped provider: what it injects as REQUEST is the record with its context. */
function scopedInvoke(host: ScopedHost): HandlerDefinition['invoke'] {
  return async ([record], [context]) => {
    const { instance } = await host.resolve(requestOf([record!, context!]));
    return handleMessage(instance as MessageHandler, record!, context!);
  };
}

function withoutHandle({ name }: Type, scoped: ScopedHost | undefined): string {
  const place = scoped ? ' in its class: it is made for one message, and looked at before' : '';
  return `${name} has no method handle(message, metadata)${place}.`;
}

/** A guard that is left out would let everybody in, a parameter would get what it did not ask for. */
function callProblems(host: HandlerHost, { handle }: MessageHandler): readonly string[] {
  const { name } = host.type;
  const instead = 'Use a method with @EventHandler instead, or take them out.';
  // It may be a property of the instance, as arrow functions are.
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
      `${origin}: its binding says enhancers: 'all', but a consumer is called without guards, interceptors, pipes and filters. Use a method with @EventHandler, or enhancers: 'local'.`,
    ]);
  };
}

function wrong(problems: readonly string[]): FoundConsumers {
  return { handlers: [], hosts: [], hostIds: [], problems };
}

function isMessageHandler(value: unknown): value is MessageHandler {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as Partial<MessageHandler>).handle === 'function'
  );
}

/** Arrow functions and methods have no prototype. */
function isClass(value: unknown): value is Type<unknown> {
  return typeof value === 'function' && typeof value.prototype === 'object';
}

/** A class may have several consumers, and decorated methods as well. */
function firstOfEachInstance(hosts: readonly DiscoveredHost[]): readonly DiscoveredHost[] {
  return [...new Map(hosts.map((host) => [host.instance, host])).values()];
}
