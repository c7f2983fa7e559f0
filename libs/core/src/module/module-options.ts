import type { FactoryProvider, ModuleMetadata, Type } from '@nestjs/common';
import type { EventBusProperties } from '../config/event-bus-properties.js';
import type { TopicBindingProperties } from '../config/topic-binding-properties.js';

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

export interface EventBusFeatureOptions {
  readonly bindings: Readonly<Record<string, TopicBindingProperties>>;
}

export interface EventBusFeatureAsyncOptions extends Pick<ModuleMetadata, 'imports'> {
  readonly inject?: FactoryProvider['inject'];
  readonly useFactory: (
    ...dependencies: never[]
  ) => EventBusFeatureOptions | Promise<EventBusFeatureOptions>;
}
