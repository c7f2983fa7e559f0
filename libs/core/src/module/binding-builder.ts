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
    return factory.create(binding, {
      driver: clusters.driver(binding.cluster),
      processor: createBindingProcessor({ binding, handlers, runtime, logger }),
      tierProcessor: () => parkedProcessor,
    });
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
