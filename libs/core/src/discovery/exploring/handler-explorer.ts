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

/** An instance that holds handlers, for as long as the application lives. */
export interface DiscoveredHost {
  readonly instance: object;
  readonly module: string;
}

export interface Discovered {
  readonly handlers: readonly HandlerDefinition[];
  readonly dltHandlers: readonly DltHandlerDefinition[];
  readonly dltAlerts: readonly DltHandlerDefinition[];
  /** Without those that are made for one record. */
  readonly hosts: readonly DiscoveredHost[];
  /** Of all hosts, as Nest's container knows them. */
  readonly hostIds: readonly string[];
  /** Where there are any, the start is refused. What is wrong is among the rest as far as it is known. */
  readonly problems: readonly string[];
}

/** Finds the decorated methods of all providers and controllers, the inherited ones included. */
@Injectable()
export class HandlerExplorer {
  constructor(
    @Inject(DiscoveryService) private readonly discovery: DiscoveryService,
    @Inject(MetadataScanner) private readonly scanner: MetadataScanner,
    @Inject(ModuleRef) private readonly moduleRef: ModuleRef,
  ) {}

  /** Constructs nothing. */
  explore(): Discovered {
    const inspections = this.#hosts().flatMap((host) => this.#inspect(host));
    const handlers = inspections.flatMap((inspection) => inspection.handlers);
    const dltHandlers = inspections.flatMap((inspection) => inspection.dltHandlers);
    // Two instances of one class have the same handlers: to say so once is enough.
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
