import {
  Module,
  type DynamicModule,
  type InjectionToken,
  type OptionalFactoryDependency,
  type Provider,
} from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import type { EventBusProperties } from '../config/event-bus-properties.js';
import { eventBusExports, eventBusProviders } from './event-bus-providers.js';
import { FeatureBindings } from './feature-bindings.js';
import {
  EVENT_BUS_OPTIONS,
  type EventBusFeatureAsyncOptions,
  type EventBusFeatureOptions,
  type EventBusModuleAsyncOptions,
  type EventBusModuleOptions,
  type EventBusOptionsFactory,
  type Visibility,
} from './module-options.js';

type Dependencies = (InjectionToken | OptionalFactoryDependency)[];

/** The event bus of an application. Import `forRoot` once, and `forFeature` wherever bindings are added. */
@Module({})
export class EventBusModule {
  static forRoot({ isGlobal, ...options }: EventBusModuleOptions = {}): DynamicModule {
    return root({ isGlobal }, [{ provide: EVENT_BUS_OPTIONS, useValue: options }]);
  }

  static forRootAsync(options: EventBusModuleAsyncOptions): DynamicModule {
    return { ...root(options, asyncOptions(options)), imports: importsOf(options) };
  }

  static forFeature(options: EventBusFeatureOptions): DynamicModule {
    return feature({ useFactory: () => new FeatureBindings(options) });
  }

  static forFeatureAsync(options: EventBusFeatureAsyncOptions): DynamicModule {
    const { inject, useFactory } = options;
    const provider = {
      inject: inject as Dependencies | undefined,
      useFactory: async (...dependencies: never[]) =>
        new FeatureBindings(await useFactory(...dependencies)),
    };
    return { ...feature(provider), imports: options.imports };
  }
}

function root({ isGlobal = true }: Visibility, options: Provider[]): DynamicModule {
  return {
    module: EventBusModule,
    global: isGlobal,
    imports: [DiscoveryModule],
    providers: [...options, ...eventBusProviders],
    exports: [...eventBusExports],
  };
}

function feature(provider: {
  inject?: Dependencies;
  useFactory: (...dependencies: never[]) => FeatureBindings | Promise<FeatureBindings>;
}): DynamicModule {
  // A token of its own for each: one module may be imported with several lists of bindings.
  return {
    module: EventBusModule,
    providers: [{ provide: Symbol('EVENT_BUS_FEATURE'), ...provider }],
  };
}

function importsOf({ imports = [] }: EventBusModuleAsyncOptions): DynamicModule['imports'] {
  return [DiscoveryModule, ...imports];
}

function asyncOptions(options: EventBusModuleAsyncOptions): Provider[] {
  const { useFactory, useClass, useExisting, inject } = options;
  if (useFactory) {
    return [{ provide: EVENT_BUS_OPTIONS, inject: inject as Dependencies | undefined, useFactory }];
  }
  const factory = useClass ?? useExisting;
  if (!factory) {
    throw new TypeError(
      'EventBusModule.forRootAsync needs useFactory, useClass or useExisting: something must make the options.',
    );
  }
  const made: Provider = {
    provide: EVENT_BUS_OPTIONS,
    inject: [factory],
    useFactory: (maker: EventBusOptionsFactory): EventBusProperties | Promise<EventBusProperties> =>
      maker.createEventBusOptions(),
  };
  return useClass ? [{ provide: useClass, useClass }, made] : [made];
}
