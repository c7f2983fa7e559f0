import { Inject, Injectable } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, ModuleRef } from '@nestjs/core';
import type { DltHandlerDefinition } from './dlt-handler-definition.js';
import type { EventListenerDefinition } from './event-listener-definition.js';
import { handlerConflicts } from './handler-conflicts.js';
import type { HandlerDefinition } from './handler-definition.js';
import { findHosts, type HandlerHost } from './handler-host.js';
import { HostInspection } from './host-inspection.js';
import {
  firstOfEachClass,
  duplicateDltHandlers,
  duplicateInstances,
} from './duplicate-instances.js';

/** A singleton with handler methods. */
export interface DiscoveredHost {
  readonly instance: object;
  readonly module: string;
}

export interface Discovered {
  readonly handlers: readonly HandlerDefinition[];
  readonly dltHandlers: readonly DltHandlerDefinition[];
  readonly dltAlerts: readonly DltHandlerDefinition[];
  readonly eventListeners: readonly EventListenerDefinition[];
  /** Hosts that are singletons. Hosts that are created for each record are left out. */
  readonly hosts: readonly DiscoveredHost[];
  /** Ids of all hosts in Nest's container. */
  readonly hostIds: readonly string[];
  /**
   * Errors that stop the start. A handler with an error is listed too, with what is known of it, so
   * that its binding is validated.
   */
  readonly problems: readonly string[];
}

/** Finds the decorated methods of all providers and controllers, including inherited methods. */
@Injectable()
export class HandlerExplorer {
  constructor(
    @Inject(DiscoveryService) private readonly discovery: DiscoveryService,
    @Inject(MetadataScanner) private readonly scanner: MetadataScanner,
    @Inject(ModuleRef) private readonly moduleRef: ModuleRef,
  ) {}

  /** Inspects classes and existing instances, without creating an instance. */
  explore(): Discovered {
    const inspections = this.#hosts().flatMap((host) => this.#inspect(host));
    const handlers = inspections.flatMap((inspection) => inspection.handlers);
    const dltHandlers = inspections.flatMap((inspection) => inspection.dltHandlers);
    // Looks for conflicts in one instance of each class only, because all instances of a class have
    // the same handlers.
    const ofClasses = firstOfEachClass(inspections);
    const problems = [
      ...inspections.flatMap((inspection) => inspection.problems),
      ...duplicateInstances(inspections),
      ...handlerConflicts(ofClasses.flatMap((inspection) => inspection.handlers)),
      ...duplicateDltHandlers(ofClasses.flatMap((inspection) => inspection.dltHandlers)),
    ];
    return {
      handlers,
      dltHandlers,
      dltAlerts: inspections.flatMap((inspection) => inspection.dltAlerts),
      eventListeners: inspections.flatMap((inspection) => inspection.eventListeners),
      hosts: inspections.flatMap(({ host }) =>
        host.kind === 'static' ? [{ instance: host.instance, module: host.module }] : [],
      ),
      hostIds: inspections.map(({ host }) => host.id),
      problems,
    };
  }

  #hosts(): readonly HandlerHost[] {
    return findHosts([...this.discovery.getProviders(), ...this.discovery.getControllers()]);
  }

  #inspect(host: HandlerHost): readonly HostInspection[] {
    const methods = this.scanner.getAllMethodNames(host.prototype);
    const inspection = new HostInspection(this.moduleRef['container'], host, methods);
    return inspection.isEmpty ? [] : [inspection];
  }
}
