import type { DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import { resolveBinding } from '../config/resolve-binding.js';
import type { ResolvedBinding } from '../config/resolved-binding.js';
import type { TopicBindingProperties } from '../config/topic-binding-properties.js';
import type { ContainerRegistration } from '../container/container-registration.js';
import type { ContainerRegistry } from '../container/container-registry.js';
import type { HandlerDefinition } from '../discovery/handler-definition.js';
import { recordHandler } from '../discovery/handler-functions.js';
import type { RecordHandler } from '../model/record-handler.js';
import { createBindingProcessor } from '../pipeline/binding-processor.js';
import { CircuitBreakerConfigFactory } from '../pipeline/resilience/circuit-breaker-config-factory.js';
import { ResilienceDecorator } from '../pipeline/resilience/resilience-decorator.js';
import { SlidingCircuitBreaker } from '../pipeline/resilience/sliding-circuit-breaker.js';
import type { BusSettings } from './bus-settings.js';
import { parkedProcessor } from './parked-processor.js';

/** Puts the containers of a binding around its handlers. */
export class BindingBuilder {
  constructor(
    private readonly settings: BusSettings,
    private readonly registry: ContainerRegistry,
    private readonly runtime: Runtime,
    private readonly logger: DriverLogger,
  ) {}

  build(binding: ResolvedBinding, handlers: readonly HandlerDefinition[]): ContainerRegistration {
    const { clusters, factory } = this.settings.require(`build binding '${binding.name}'`);
    const { runtime, logger } = this;
    const breaker = this.#breakerOf(binding);
    // The tiers of a binding get the same one: it is their handler, too.
    const resilience = new ResilienceDecorator({ binding, breaker, runtime, logger });
    return factory.create(binding, {
      driver: clusters.driver(binding.cluster),
      processor: createBindingProcessor({ binding, handlers, resilience, runtime, logger }),
      tierProcessor: () => parkedProcessor,
      circuitBreaker: breaker,
    });
  }

  #breakerOf(binding: ResolvedBinding): SlidingCircuitBreaker | undefined {
    const config = new CircuitBreakerConfigFactory().create(binding);
    return config && new SlidingCircuitBreaker(config, this.runtime, this.logger);
  }

  /** A binding that is registered at run time goes by the same rules as one that was configured. */
  async buildFrom(
    name: string,
    properties: TopicBindingProperties,
    handler: RecordHandler,
  ): Promise<ContainerRegistration> {
    const { options } = this.settings.require(`register binding '${name}'`);
    const layers = [{ source: 'the registration', properties }];
    const others = this.registry.listAll().map(({ config }) => config);
    const binding = resolveBinding(name, layers, options.context, others);
    return this.build(binding, [recordHandler(name, handler)]);
  }
}
