import {
  Inject,
  Module,
  type DynamicModule,
  type InjectionToken,
  type OnApplicationBootstrap,
  type OptionalFactoryDependency,
  type Provider,
} from '@nestjs/common';
import { DiscoveryModule, ModulesContainer } from '@nestjs/core';
import type { EventBusProperties } from '../config/properties/event-bus-properties.js';
import type { FeatureProperties } from '../config/properties/feature-properties.js';
import { isPlainObject } from '../config/reading/plain-object.js';
import { EventBusBootstrap } from './event-bus-bootstrap.js';
import { eventBusExports, eventBusProviders } from './event-bus-providers.js';
import { FeatureBindings, missingRoot } from './feature-bindings.js';
import { FeatureConsumers, handlerClasses } from './feature-consumer.js';
import {
  EVENT_BUS_OPTIONS,
  type EventBusFeatureAsyncOptions,
  type EventBusFeatureBindings,
  type EventBusFeatureOptions,
  type EventBusFeatureParts,
  type EventBusModuleAsyncOptions,
  type EventBusModuleOptions,
  type EventBusOptionsFactory,
  type Visibility,
} from './module-options.js';

/** Options of a feature that are for Nest, and not for the bus. */
const NEST_OPTIONS: ReadonlySet<string> = new Set<keyof EventBusFeatureParts>([
  'imports',
  'consumers',
]);

type Dependencies = (InjectionToken | OptionalFactoryDependency)[];

/**
 * The event bus of an application. Import `forRoot` once, and `forFeature` in every module that
 * adds bindings.
 */
@Module({})
export class EventBusModule implements OnApplicationBootstrap {
  constructor(@Inject(ModulesContainer) private readonly modules: ModulesContainer) {}

  /** Throws if the module was imported without forRoot, because it would silently do nothing. */
  onApplicationBootstrap(): void {
    if ([...this.modules.values()].some((module) => module.hasProvider(EventBusBootstrap))) return;
    throw missingRoot('EventBusModule', 'is imported, but there is no event bus in it.');
  }

  static forRoot({ isGlobal, ...options }: EventBusModuleOptions = {}): DynamicModule {
    return rootModule({ isGlobal }, [{ provide: EVENT_BUS_OPTIONS, useValue: options }]);
  }

  static forRootAsync(options: EventBusModuleAsyncOptions): DynamicModule {
    return { ...rootModule(options, asyncOptions(options)), imports: importsOf(options) };
  }

  static forFeature<const Messages extends readonly unknown[]>(
    options: EventBusFeatureOptions<Messages>,
  ): DynamicModule {
    return featureModule(options, {
      useFactory: () => featureBindings(options, withoutNestOptions(options)),
    });
  }

  static forFeatureAsync<const Messages extends readonly unknown[]>(
    options: EventBusFeatureAsyncOptions<Messages>,
  ): DynamicModule {
    const { inject, useFactory } = options;
    return featureModule(options, {
      inject: inject as Dependencies | undefined,
      useFactory: async (...dependencies: never[]) =>
        featureBindings(options, await useFactory(...dependencies)),
    });
  }
}

function rootModule({ isGlobal = true }: Visibility, options: Provider[]): DynamicModule {
  return {
    module: EventBusModule,
    global: isGlobal,
    imports: [DiscoveryModule],
    providers: [...options, ...eventBusProviders],
    exports: [...eventBusExports],
  };
}

function featureModule(
  parts: EventBusFeatureParts | undefined,
  bindings: {
    inject?: Dependencies;
    useFactory: (...dependencies: never[]) => FeatureBindings | Promise<FeatureBindings>;
  },
): DynamicModule {
  const { imports, consumers } = parts ?? {};
  const handlers = handlerClasses(consumers);
  // Unique tokens, because one module may import several features.
  return {
    module: EventBusModule,
    imports,
    providers: [
      ...handlers,
      { provide: Symbol('EVENT_BUS_FEATURE'), ...bindings },
      {
        provide: Symbol('EVENT_BUS_CONSUMERS'),
        useFactory: () => new FeatureConsumers(consumers),
      },
    ],
    exports: [...handlers],
  };
}

/** Fills in empty bindings for a feature that only brings consumers. */
function featureBindings(
  parts: EventBusFeatureParts | undefined,
  given: EventBusFeatureBindings,
): FeatureBindings {
  const isComplete = (parts?.consumers ?? []).length === 0 || !isPlainObject(given);
  return new FeatureBindings(
    (isComplete ? given : { bindings: {}, ...given }) as FeatureProperties,
  );
}

function withoutNestOptions(options: EventBusFeatureOptions): EventBusFeatureBindings {
  if (!isPlainObject(options)) return options;
  return Object.fromEntries(Object.entries(options).filter(([key]) => !NEST_OPTIONS.has(key)));
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
      'EventBusModule.forRootAsync needs useFactory, useClass or useExisting to create the options.',
    );
  }
  const provider: Provider = {
    provide: EVENT_BUS_OPTIONS,
    inject: [factory],
    useFactory: (
      source: EventBusOptionsFactory,
    ): EventBusProperties | Promise<EventBusProperties> => source.createEventBusOptions(),
  };
  return useClass ? [{ provide: useClass, useClass }, provider] : [provider];
}
