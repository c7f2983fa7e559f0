import {
  Controller,
  Get,
  Inject,
  Injectable,
  Module,
  Res,
  type DynamicModule,
  type OnApplicationShutdown,
  type OnModuleInit,
  type Type,
} from '@nestjs/common';
import { register, type OpenMetricsContentType, type Registry } from 'prom-client';
import { ConfigurationValidationException } from '../errors/configuration-validation-exception.js';
import { NestLogger } from '../nest/nest-logger.js';
import { EventBusMetrics } from '../observability/event-bus-metrics.js';
import { RESERVED_LABELS } from '../observability/reserved-labels.js';
import { LEGAL_LABEL, LEGAL_PREFIX } from './metric-names.js';
import { MetricsSource } from './metrics-source.js';
import { RegistryExport } from './registry-export.js';

/** A registry in either format. */
export type MetricsRegistry = Registry | Registry<OpenMetricsContentType>;

export interface EventBusMetricsModuleOptions {
  /**
   * The registry to which the metrics are added. Default: the one of prom-client, which
   * `PrometheusModule` of @willsoto/nestjs-prometheus shows.
   */
  readonly registry?: MetricsRegistry;
  /** Text before every name: `shop_` makes `shop_eventbus_records_received_total`. Default none. */
  readonly prefix?: string;
  /**
   * Labels of every sample, for several applications with one registry. A name that samples of the
   * bus have already, such as `topic`, is refused. Default none.
   */
  readonly labels?: Readonly<Record<string, string>>;
  /**
   * Path of an endpoint for the registry: `/metrics`. Default none, because `PrometheusModule` has
   * one for its own registry.
   */
  readonly endpoint?: string;
}

const OPTIONS = Symbol('EVENT_BUS_METRICS_OPTIONS');

/** Adds the metrics to the registry at the start, and removes them at the end. */
@Injectable()
export class EventBusMetricsExporter implements OnModuleInit, OnApplicationShutdown {
  readonly #export: RegistryExport;

  constructor(
    @Inject(EventBusMetrics) metrics: EventBusMetrics,
    @Inject(OPTIONS)
    { registry = register, labels = {}, prefix = '' }: EventBusMetricsModuleOptions,
  ) {
    const logger = new NestLogger();
    const source = new MetricsSource({ metrics, labels, logger });
    this.#export = new RegistryExport(registry, source, prefix, logger);
  }

  onModuleInit(): void {
    this.#export.add();
  }

  /** Runs in the last hook, so that the values of the drain can still be scraped. */
  onApplicationShutdown(): void {
    this.#export.remove();
  }
}

/**
 * Exports the metrics of the bus to Prometheus. Needs a global `EventBusModule.forRoot`, which is
 * the default. Works beside `PrometheusModule`, and without it.
 */
@Module({})
export class EventBusMetricsModule {
  static forRoot(options: EventBusMetricsModuleOptions = {}): DynamicModule {
    requireLegal(options);
    const { endpoint, registry = register } = options;
    return {
      module: EventBusMetricsModule,
      controllers: endpoint === undefined ? [] : [metricsController(endpoint, registry)],
      providers: [{ provide: OPTIONS, useValue: options }, EventBusMetricsExporter],
    };
  }
}

/** The part of a response that Express and Fastify have in common. */
interface AnyResponse {
  header(name: string, value: string): unknown;
}

/** Creates a controller of its own, because the path of a controller is fixed in its class. */
function metricsController(path: string, registry: MetricsRegistry): Type {
  @Controller(path)
  class EventBusMetricsController {
    @Get()
    metrics(@Res({ passthrough: true }) response: AnyResponse): Promise<string> {
      response.header('Content-Type', registry.contentType);
      return registry.metrics();
    }
  }
  return EventBusMetricsController;
}

function requireLegal({ prefix = '', labels = {} }: EventBusMetricsModuleOptions): void {
  const refuse = (option: string, value: unknown, message: string): never => {
    const path = `EventBusMetricsModule.${option}`;
    throw new ConfigurationValidationException([
      { rule: 'METRIC_NAME', binding: undefined, path, value, message },
    ]);
  };
  const illegal = (value: string): string =>
    `must have only letters, digits and underscores, and no digit at its start; got ${JSON.stringify(value)}.`;
  if (!LEGAL_PREFIX.test(prefix)) refuse('prefix', prefix, illegal(prefix));
  for (const name of Object.keys(labels)) {
    if (!LEGAL_LABEL.test(name)) refuse('labels', name, illegal(name));
    if (RESERVED_LABELS.has(name))
      refuse(
        'labels',
        name,
        `must not contain '${name}', because samples of the bus have a label of this name: choose another name, such as 'app_${name}'.`,
      );
    if (name.startsWith('__'))
      refuse(
        'labels',
        name,
        `must not contain '${name}', because Prometheus keeps names with two underscores for itself: choose another name.`,
      );
  }
}
