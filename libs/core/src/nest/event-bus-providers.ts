import type { InjectionToken, Provider } from '@nestjs/common';
import { realRuntime } from '@nest-event-bus/broker/runtime';
import type { EventBusProperties } from '../config/properties/event-bus-properties.js';
import { ContainerFactory } from '../containers/container-factory.js';
import { ContainerRegistry } from '../containers/container-registry.js';
import { EventBusConnector } from '../containers/lifecycle/event-bus-connector.js';
import { LifecycleManager } from '../containers/lifecycle/lifecycle-manager.js';
import { ShutdownCoordinator } from '../containers/shutdown/shutdown-coordinator.js';
import { HandlerExplorer } from '../discovery/exploring/handler-explorer.js';
import { EventBusMetrics } from '../observability/event-bus-metrics.js';
import { EventPublisher } from '../publisher/event-publisher.js';
import { KafkaErrorHandler } from '../failures/routing/kafka-error-handler.js';
import { DltReplayService } from '../redrive/dlt-replay-service.js';
import { DltStatsService } from '../redrive/stats/dlt-stats-service.js';
import { EventBusEvents } from '../events/event-bus-events.js';
import { EventBusBootstrap } from './event-bus-bootstrap.js';
import { EventBusKernel } from '../assembly/event-bus-kernel.js';
import { EVENT_BUS_OPTIONS } from './module-options.js';
import { NestLogger } from './nest-logger.js';

const partOfKernel = (
  provide: InjectionToken,
  of: (kernel: EventBusKernel) => object,
): Provider => ({
  provide,
  inject: [EventBusKernel],
  useFactory: of,
});

export const eventBusProviders: readonly Provider[] = [
  {
    provide: EventBusKernel,
    inject: [EVENT_BUS_OPTIONS],
    useFactory: (options: EventBusProperties | undefined) =>
      new EventBusKernel(options?.runtime ?? realRuntime, new NestLogger()),
  },
  partOfKernel(ContainerRegistry, ({ registry }) => registry),
  partOfKernel(ContainerFactory, ({ factory }) => factory),
  partOfKernel(LifecycleManager, ({ lifecycle }) => lifecycle),
  partOfKernel(EventBusConnector, ({ connector }) => connector),
  partOfKernel(EventPublisher, ({ publisher }) => publisher),
  partOfKernel(ShutdownCoordinator, ({ shutdown }) => shutdown),
  partOfKernel(EventBusMetrics, ({ metrics }) => metrics),
  partOfKernel(KafkaErrorHandler, ({ errorHandler }) => errorHandler),
  partOfKernel(DltReplayService, ({ replay }) => replay),
  partOfKernel(DltStatsService, ({ deadLetterStats }) => deadLetterStats),
  partOfKernel(
    EventBusEvents,
    ({ hub, runtime, logger }) => new EventBusEvents(hub, runtime, logger),
  ),
  HandlerExplorer,
  EventBusBootstrap,
];

/** Classes that an application may inject. */
export const eventBusExports: readonly InjectionToken[] = [
  ContainerRegistry,
  ContainerFactory,
  LifecycleManager,
  EventBusConnector,
  EventPublisher,
  ShutdownCoordinator,
  EventBusMetrics,
  KafkaErrorHandler,
  DltReplayService,
  DltStatsService,
  EventBusEvents,
];
