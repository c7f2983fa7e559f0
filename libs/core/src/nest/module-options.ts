import type { FactoryProvider, ModuleMetadata, Type } from '@nestjs/common';
import type { EventBusProperties } from '../config/properties/event-bus-properties.js';
import type { TopicBindingProperties } from '../config/properties/topic-binding-properties.js';
import type { FeatureConsumer } from './feature-consumer.js';

/** Under which the options of `forRoot` are found, as they were given. */
export const EVENT_BUS_OPTIONS = Symbol('EVENT_BUS_OPTIONS');

export interface Visibility {
  /** Whether every module may inject what the bus exports. Default true. */
  readonly isGlobal?: boolean;
}

export type EventBusModuleOptions = EventBusProperties & Visibility;

/** What `useClass` and `useExisting` name. */
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

/** What the factory of `forFeatureAsync` makes. */
export interface EventBusFeatureBindings {
  readonly bindings?: Readonly<Record<string, TopicBindingProperties>>;
}

/** What Nest must know before it makes anything. `Messages`: what each of the consumers takes. */
export interface EventBusFeatureParts<
  Messages extends readonly unknown[] = readonly unknown[],
> extends Pick<ModuleMetadata, 'imports'> {
  /** Their classes become providers of the feature, which exports them. What they inject comes from `imports`. */
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
