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

/** What an application may provide for all its bindings. */
export interface OptionalProviders {
  readonly classifier: ExceptionClassifier | undefined;
  readonly naming: TopicNamingStrategy | undefined;
  readonly errorHandling: KafkaErrorHandlerOptions | undefined;
}

interface Part<T> {
  readonly name: string;
  readonly token: symbol;
  readonly has: string;
  readonly isOne: (value: unknown) => value is T;
}

const CLASSIFIER: Part<ExceptionClassifier> = {
  name: 'EXCEPTION_CLASSIFIER',
  token: EXCEPTION_CLASSIFIER,
  has: 'a method classify(error, currentTier)',
  isOne: isExceptionClassifier,
};

const NAMING: Part<TopicNamingStrategy> = {
  name: 'TOPIC_NAMING_STRATEGY',
  token: TOPIC_NAMING_STRATEGY,
  has: 'the methods retryTopic(topic, tier) and deadLetterTopic(topic)',
  isOne: isNamingStrategy,
};

const ERROR_HANDLING: Part<KafkaErrorHandlerOptions> = {
  name: 'KAFKA_ERROR_HANDLER_OPTIONS',
  token: KAFKA_ERROR_HANDLER_OPTIONS,
  has: 'retryTopics, cluster, exceptionDetail or redact',
  isOne: (value) => typeof value === 'object' && value !== null,
};

/** Of whatever module. What cannot be used is a violation, since the defaults would decide in its place. */
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
  { name, token, has, isOne }: Part<T>,
  violations: Violations,
): T | undefined {
  const refuse = (value: unknown, message: string): undefined => {
    violations.add('PROVIDER', name, value, message);
  };
  const wrappers = providers.filter((wrapper) => wrapper.token === token);
  if (!wrappers.every(isSingleton))
    return refuse(
      undefined,
      'is made anew for each request or for each who asks, but the event bus needs one for the whole application. Make it a singleton, and all that it injects.',
    );
  const given = new Map(wrappers.map((wrapper) => [wrapper.instance as unknown, wrapper]));
  given.delete(undefined);
  given.delete(null);
  if (given.size > 1) {
    const modules = [...given.values()].map(({ host }) => host?.name).join(' and in ');
    return refuse(undefined, `is provided ${given.size} times, in ${modules}. Leave one.`);
  }
  const [value] = given.keys();
  if (value === undefined || isOne(value)) return value;
  return refuse(value, `must be an object with ${has}.`);
}

function isSingleton(wrapper: InstanceWrapper): boolean {
  return wrapper.isDependencyTreeStatic() && !wrapper.isTransient;
}
