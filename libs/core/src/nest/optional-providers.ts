import type { DiscoveryService } from '@nestjs/core';
import { isExceptionClassifier } from '../config/properties/exception-route-properties.js';
import { isNamingStrategy } from '../config/resolving/topic-naming.js';
import type { Violations } from '../config/validation/violations.js';
import {
  EXCEPTION_CLASSIFIER,
  KAFKA_ERROR_HANDLER_OPTIONS,
  TOPIC_NAMING_STRATEGY,
} from '../discovery/decorators/tokens.js';
import type { ExceptionClassifier } from '../model/extension-points/handler-interfaces.js';
import type { TopicNamingStrategy } from '../model/extension-points/topic-naming-strategy.js';
import type { KafkaErrorHandlerOptions } from '../failures/routing/kafka-error-handler.js';

type InstanceWrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** Providers with which an application may replace defaults for all its bindings. */
export interface OptionalProviders {
  readonly classifier: ExceptionClassifier | undefined;
  readonly naming: TopicNamingStrategy | undefined;
  readonly errorHandling: KafkaErrorHandlerOptions | undefined;
}

interface ProviderKind<T> {
  readonly name: string;
  readonly token: symbol;
  /** Completes the sentence "must be an object with ...". */
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

/**
 * Finds the providers in any module. A provider that cannot be used is a violation; otherwise the
 * defaults would silently apply.
 */
export function readOptionalProviders(
  providers: readonly InstanceWrapper[],
  violations: Violations,
): OptionalProviders {
  return {
    classifier: readOptionalProvider(providers, CLASSIFIER, violations),
    naming: readOptionalProvider(providers, NAMING, violations),
    errorHandling: readOptionalProvider(providers, ERROR_HANDLING, violations),
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
