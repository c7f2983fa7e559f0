import type { DiscoveryService } from '@nestjs/core';
import { isExceptionClassifier } from '../config/properties/exception-route-properties.js';
import { isNamingStrategy } from '../config/resolving/topic-naming.js';
import type { Violations } from '../config/validation/violations.js';
import {
  EVENT_BUS_TRACER,
  EXCEPTION_CLASSIFIER,
  KAFKA_ERROR_HANDLER_OPTIONS,
  LAG_ALERT_HANDLER,
  TOPIC_NAMING_STRATEGY,
} from '../discovery/decorators/tokens.js';
import type { EventBusTracer } from '../model/extension-points/event-bus-tracer.js';
import type { ExceptionClassifier } from '../model/extension-points/handler-interfaces.js';
import type { LagAlertHandler } from '../model/extension-points/lag-alert-handler.js';
import type { TopicNamingStrategy } from '../model/extension-points/topic-naming-strategy.js';
import type { KafkaErrorHandlerOptions } from '../failures/routing/kafka-error-handler.js';

type InstanceWrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** Providers with which an application may replace defaults for all its bindings. */
export interface OptionalProviders {
  readonly classifier: ExceptionClassifier | undefined;
  readonly naming: TopicNamingStrategy | undefined;
  readonly errorHandling: KafkaErrorHandlerOptions | undefined;
  readonly lagAlertHandler: LagAlertHandler | undefined;
  readonly tracer: EventBusTracer | undefined;
}

interface ProviderKind<T> {
  readonly name: string;
  readonly token: symbol;
  /** Text that completes the sentence "must be an object with ...". */
  readonly members: string;
  readonly isValid: (value: unknown) => value is T;
}

const CLASSIFIER: ProviderKind<ExceptionClassifier> = {
  name: 'EXCEPTION_CLASSIFIER',
  token: EXCEPTION_CLASSIFIER,
  members: 'a method classify(error, currentTier)',
  isValid: isExceptionClassifier,
};

const NAMING: ProviderKind<TopicNamingStrategy> = {
  name: 'TOPIC_NAMING_STRATEGY',
  token: TOPIC_NAMING_STRATEGY,
  members: 'the methods retryTopic(topic, tier) and deadLetterTopic(topic)',
  isValid: isNamingStrategy,
};

const ERROR_HANDLING: ProviderKind<KafkaErrorHandlerOptions> = {
  name: 'KAFKA_ERROR_HANDLER_OPTIONS',
  token: KAFKA_ERROR_HANDLER_OPTIONS,
  members: 'retryTopics, cluster, exceptionDetail or redact',
  isValid: (value) => typeof value === 'object' && value !== null,
};

const LAG_ALERTS: ProviderKind<LagAlertHandler> = {
  name: 'LAG_ALERT_HANDLER',
  token: LAG_ALERT_HANDLER,
  members: 'a method onLagAlert(alert)',
  isValid: (value): value is LagAlertHandler =>
    typeof (value as Partial<LagAlertHandler> | null)?.onLagAlert === 'function',
};

const TRACER: ProviderKind<EventBusTracer> = {
  name: 'EVENT_BUS_TRACER',
  token: EVENT_BUS_TRACER,
  members: 'the methods process, send, polled and settled',
  isValid: (value): value is EventBusTracer =>
    ['process', 'send', 'polled', 'settled'].every(
      (name) => typeof (value as Record<string, unknown>)[name] === 'function',
    ),
};

/**
 * Finds the providers in any module. A provider with missing members is a violation, because
 * otherwise the default would be used and nothing would say so.
 */
export function readOptionalProviders(
  providers: readonly InstanceWrapper[],
  violations: Violations,
): OptionalProviders {
  return {
    classifier: readOptionalProvider(providers, CLASSIFIER, violations),
    naming: readOptionalProvider(providers, NAMING, violations),
    errorHandling: readOptionalProvider(providers, ERROR_HANDLING, violations),
    lagAlertHandler: readOptionalProvider(providers, LAG_ALERTS, violations),
    tracer: readOptionalProvider(providers, TRACER, violations),
  };
}

function readOptionalProvider<T>(
  providers: readonly InstanceWrapper[],
  { name, token, members, isValid }: ProviderKind<T>,
  violations: Violations,
): T | undefined {
  const refuse = (value: unknown, message: string): undefined => {
    violations.add('PROVIDER', name, value, message);
  };
  const wrappers = providers.filter((wrapper) => wrapper.token === token);
  if (!wrappers.every(isSingleton))
    return refuse(
      undefined,
      'is request-scoped or transient, but the event bus needs one instance for the whole application. Make it a singleton, and all that it injects.',
    );
  const instances = new Map(wrappers.map((wrapper) => [wrapper.instance as unknown, wrapper]));
  instances.delete(undefined);
  instances.delete(null);
  if (instances.size > 1) {
    const modules = [...instances.values()].map(({ host }) => host?.name).join(' and in ');
    return refuse(
      undefined,
      `is provided ${instances.size} times, in ${modules}. Remove all but one.`,
    );
  }
  const [value] = instances.keys();
  if (value === undefined || isValid(value)) return value;
  return refuse(value, `must be an object with ${members}.`);
}

function isSingleton(wrapper: InstanceWrapper): boolean {
  return wrapper.isDependencyTreeStatic() && !wrapper.isTransient;
}
