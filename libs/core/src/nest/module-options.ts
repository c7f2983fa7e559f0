import type { FactoryProvider, ModuleMetadata, Type } from '@nestjs/common';
import type { EventBusProperties } from '../config/properties/event-bus-properties.js';
import type { TopicBindingProperties } from '../config/properties/topic-binding-properties.js';
import type { FeatureConsumer } from './feature-consumer.js';

/** Injection token of the `forRoot` options, as they were given. */
export const EVENT_BUS_OPTIONS = Symbol('EVENT_BUS_OPTIONS');

export interface Visibility {
  /** True if every module may inject what the bus exports. Default true. */
  readonly isGlobal?: boolean;
}

export type EventBusModuleOptions = EventBusProperties & Visibility;

/** Implemented by the class that `useClass` or `useExisting` names. */
export interface EventBusOptionsFactory {
  createEventBusOptions(): EventBusProperties | Promise<EventBusProperties>;
}

export interface EventBusModuleAsyncOptions extends Visibility, Pick<ModuleMetadata, 'imports'> {
  readonly inject?: FactoryProvider['inject'];
  readonly useFactory?: (
    ...dependencies: never[]
  ) => EventBusProperties | Promise<EventBusProperties>;
  readonly useClass?: Type<EventBusOptionsFactory>;
  readonly useExisting?: Type<EventBusOptionsFactory> | string | symbol;
}

/** Result of the factory of `forFeatureAsync`. */
export interface EventBusFeatureBindings {
  readonly bindings?: Readonly<Record<string, TopicBindingProperties>>;
}

/**
 * Options that Nest must know before it creates providers. `Messages` are the message types of the
 * consumers, in order.
 */
export interface EventBusFeatureParts<
  Messages extends readonly unknown[] = readonly unknown[],
> extends Pick<ModuleMetadata, 'imports'> {
  /**
   * Consumers of the feature. Their classes become providers, which the feature exports; their
   * dependencies come from `imports`.
   */
  readonly consumers?: { readonly [K in keyof Messages]: FeatureConsumer<Messages[K]> };
}

/** A feature brings bindings, consumers, or both. */
export interface EventBusFeatureOptions<Messages extends readonly unknown[] = readonly unknown[]>
  extends EventBusFeatureBindings, EventBusFeatureParts<Messages> {}

export interface EventBusFeatureAsyncOptions<
  Messages extends readonly unknown[] = readonly unknown[],
> extends EventBusFeatureParts<Messages> {
  readonly inject?: FactoryProvider['inject'];
  readonly useFactory: (
    ...dependencies: never[]
  ) => EventBusFeatureBindings | Promise<EventBusFeatureBindings>;
}
