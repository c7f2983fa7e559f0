import type { InjectionToken, Provider } from '@nestjs/common';
import { realRuntime } from '@nest-event-bus/broker/runtime';
import type { EventBusProperties } from '../config/properties/event-bus-properties.js';
import { EventBusAdmin } from '../admin/event-bus-admin.js';
import { ContainerFactory } from '../containers/container-factory.js';
import { ContainerRegistry } from '../containers/container-registry.js';
import { EventBusConnector } from '../containers/lifecycle/event-bus-connector.js';
import { LifecycleManager } from '../containers/lifecycle/lifecycle-manager.js';
import { ShutdownCoordinator } from '../containers/shutdown/shutdown-coordinator.js';
import { HandlerExplorer } from '../discovery/exploring/handler-explorer.js';
import { EventBusMetrics } from '../observability/event-bus-metrics.js';
import { EventBusDoctor } from '../observability/doctor/event-bus-doctor.js';
import { KafkaHealth } from '../containers/health/kafka-health.js';
import { LagService } from '../observability/lag/lag-service.js';
import { KafkaMetrics } from '../observability/kafka-metrics.js';
import { EventPublisher } from '../publisher/event-publisher.js';
import { KafkaErrorHandler } from '../failures/routing/kafka-error-handler.js';
import { DltReplayService } from '../redrive/dlt-replay-service.js';
import { ReplaySchedule } from '../redrive/schedule/replay-schedule.js';
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
  partOfKernel(LagService, ({ lag }) => lag),
  partOfKernel(KafkaMetrics, ({ kafkaMetrics }) => kafkaMetrics),
  partOfKernel(EventBusDoctor, ({ doctor }) => doctor),
  partOfKernel(KafkaHealth, ({ kafkaHealth }) => kafkaHealth),
  partOfKernel(KafkaErrorHandler, ({ errorHandler }) => errorHandler),
  partOfKernel(DltReplayService, ({ replay }) => replay),
  partOfKernel(ReplaySchedule, ({ replaySchedule }) => replaySchedule),
  partOfKernel(DltStatsService, ({ deadLetterStats }) => deadLetterStats),
  partOfKernel(EventBusAdmin, ({ admin }) => admin),
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
  LagService,
  KafkaMetrics,
  EventBusDoctor,
  KafkaHealth,
  KafkaErrorHandler,
  DltReplayService,
  DltStatsService,
  EventBusAdmin,
  EventBusEvents,
];
