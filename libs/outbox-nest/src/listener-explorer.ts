import {
  AggregateType,
  type DefaultListenerRegistry,
  type EventEnvelope,
} from '@nest-event-bus/outbox';
import { Inject, Injectable } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { OUTBOX_LISTENER, type OutboxListenerOptions } from './outbox-listener.js';

type Methods = Readonly<Record<string, (event: EventEnvelope) => void | Promise<void>>>;

/** Finds the methods with `@OutboxListener` and registers them. */
@Injectable()
export class ListenerExplorer {
  constructor(
    @Inject(DiscoveryService) private readonly discovery: DiscoveryService,
    @Inject(MetadataScanner) private readonly scanner: MetadataScanner,
    @Inject(Reflector) private readonly reflector: Reflector,
  ) {}

  register(registry: DefaultListenerRegistry): void {
    for (const { instance } of [
      ...this.discovery.getProviders(),
      ...this.discovery.getControllers(),
    ])
      if (typeof instance === 'object' && instance !== null)
        this.#registerMethods(instance as Methods, registry);
  }

  #registerMethods(instance: Methods, registry: DefaultListenerRegistry): void {
    for (const name of this.scanner.getAllMethodNames(Object.getPrototypeOf(instance) as object)) {
      const method = instance[name];
      const options =
        method && this.reflector.get<OutboxListenerOptions | undefined>(OUTBOX_LISTENER, method);
      if (options)
        registry.register(options.aggregate ?? AggregateType.GLOBAL, options.event, {
          onEvent: (event) => method.call(instance, event),
        });
    }
  }
}
