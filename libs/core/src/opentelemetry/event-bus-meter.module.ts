import { errorReasonOf } from '@nest-event-bus/broker';
import {
  Inject,
  Injectable,
  Module,
  type DynamicModule,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { createNoopMeter, metrics as api, type Attributes } from '@opentelemetry/api';
import { ConfigurationValidationException } from '../errors/configuration-validation-exception.js';
import { suggestion } from '../model/nearest-name.js';
import { NestLogger } from '../nest/nest-logger.js';
import { EventBusMetrics } from '../observability/event-bus-metrics.js';
import { RESERVED_LABELS } from '../observability/reserved-labels.js';
import { MeterExport } from './meter-export.js';

export interface EventBusMeterModuleOptions {
  /**
   * Attributes of every value. Several applications of one process need different ones. Default
   * none.
   */
  readonly attributes?: Attributes;
}

const OPTIONS = Symbol('EVENT_BUS_METER_OPTIONS');

/** Adds the metrics to the meter at the start, and ends their export with the application. */
@Injectable()
export class EventBusMeterExporter implements OnModuleInit, OnApplicationShutdown {
  readonly #logger = new NestLogger();
  #export: MeterExport | undefined;

  constructor(
    @Inject(EventBusMetrics) private readonly metrics: EventBusMetrics,
    @Inject(OPTIONS) private readonly options: EventBusMeterModuleOptions,
  ) {}

  onModuleInit(): void {
    const { metrics, options } = this;
    const logger = this.#logger;
    const meter = api.getMeter('@nest-event-bus/core');
    if (meter === createNoopMeter()) {
      logger.warn(
        'EventBusMeterModule exports nothing, because no MeterProvider is registered: start the SDK of OpenTelemetry with metrics before the application, or remove the module',
      );
      return;
    }
    const { attributes = {} } = options;
    const added = new MeterExport({ metrics, meter, attributes, logger });
    try {
      added.add();
      this.#export = added;
    } catch (error) {
      logger.warn(
        'The meter of OpenTelemetry threw, so the metrics of the event bus are not exported: correct its SDK',
        { reason: errorReasonOf(error) },
      );
    }
  }

  /** Runs in the last hook, so that the values of the drain are exported. */
  onApplicationShutdown(): void {
    this.#export?.end();
  }
}

/**
 * Exports the metrics of the bus with the SDK of OpenTelemetry that the application has started.
 * Needs a global `EventBusModule.forRoot`, which is the default.
 */
@Module({})
export class EventBusMeterModule {
  static forRoot(options: EventBusMeterModuleOptions = {}): DynamicModule {
    requireMeterOptions(options);
    return {
      module: EventBusMeterModule,
      providers: [{ provide: OPTIONS, useValue: options }, EventBusMeterExporter],
    };
  }
}

function requireMeterOptions(options: EventBusMeterModuleOptions): void {
  const refuse = (rule: string, option: string, value: unknown, message: string): never => {
    const path = `EventBusMeterModule.${option.slice(0, 100)}`;
    throw new ConfigurationValidationException([
      { rule, binding: undefined, path, value, message },
    ]);
  };
  for (const [option, value] of Object.entries(options))
    if (option !== 'attributes') {
      const message = `there is no option '${option.slice(0, 100)}' here. ${suggestion(option, ['attributes'])}`;
      refuse('UNKNOWN_KEY', option, value, message);
    }
  for (const name of Object.keys(options.attributes ?? {}))
    if (RESERVED_LABELS.has(name)) {
      const message = `must not contain '${name}', because values of the bus have an attribute of this name: choose another name, such as 'app.${name}'.`;
      refuse('METRIC_NAME', 'attributes', name, message);
    }
}
