import { Inject, Injectable } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, ModuleRef } from '@nestjs/core';
import type { DltHandlerDefinition } from './dlt-handler-definition.js';
import { handlerConflicts } from './handler-conflicts.js';
import type { HandlerDefinition } from './handler-definition.js';
import { findHosts, type HandlerHost } from './handler-host.js';
import { HostInspection } from './host-inspection.js';
import {
  firstOfEachClass,
  duplicateDltHandlers,
  duplicateInstances,
} from './duplicate-instances.js';

/** A singleton that holds handlers. */
export interface DiscoveredHost {
  readonly instance: object;
  readonly module: string;
}

export interface Discovered {
  readonly handlers: readonly HandlerDefinition[];
  readonly dltHandlers: readonly DltHandlerDefinition[];
  readonly dltAlerts: readonly DltHandlerDefinition[];
  /** Singletons only; hosts that are created per record are left out. */
  readonly hosts: readonly DiscoveredHost[];
  /** Ids of all hosts in Nest's container. */
  readonly hostIds: readonly string[];
  /**
   * Errors that stop the start. A handler with an error is still listed as far as it is known, so
   * that its binding is validated, too.
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

  /** Inspects classes and existing instances without creating any. */
  explore(): Discovered {
    const inspections = this.#hosts().flatMap((host) => this.#inspect(host));
    const handlers = inspections.flatMap((inspection) => inspection.handlers);
    const dltHandlers = inspections.flatMap((inspection) => inspection.dltHandlers);
    // Instances of one class have the same handlers, so conflicts are searched in one of them only.
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
