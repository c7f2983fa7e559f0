import {
  Controller,
  Inject,
  Logger,
  Module,
  UseGuards,
  type DynamicModule,
  type OnApplicationBootstrap,
  type Type,
} from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { openApiDocument } from '../api/open-api.js';
import { ADMIN_ROUTES } from '../api/routes/admin-routes.js';
import { documentRoutes } from '../api/routes/document-routes.js';
import type { AdminRouteHandlers } from '../api/admin-reply.js';
import { EventBusAdmin } from '../event-bus-admin.js';
import { adminHandlers } from '../route-handlers/admin-handlers.js';
import { AdminExceptionFilter } from './admin-exception.filter.js';
import { AdminGateway } from './admin-gateway.js';
import {
  ADMIN_HANDLERS,
  ADMIN_SETTINGS,
  type AdminSettings,
  type EventBusAdminModuleOptions,
} from './admin-options.js';
import { EventBusAdminController } from './event-bus-admin.controller.js';
import { readAdminOptions, refused } from './read-admin-options.js';
import { addRoutes, extensionController, type RouteController } from './route-controller.js';

/**
 * The REST API of `EventBusAdmin`. It is never open by accident: without `access`, the application
 * does not start.
 */
@Module({})
export class EventBusAdminModule implements OnApplicationBootstrap {
  constructor(
    @Inject(ADMIN_SETTINGS) private readonly settings: AdminSettings,
    @Inject(ModuleRef) private readonly moduleRef: ModuleRef,
  ) {}

  static register(options: EventBusAdminModuleOptions): DynamicModule {
    const settings = readAdminOptions(options);
    const { controller = EventBusAdminController, extensions = [], imports = [] } = options;
    if (controller !== EventBusAdminController && !isAdminController(controller))
      throw refused('controller', 'must be a class that extends EventBusAdminController.');
    const own = ownController(controller as Type<RouteController>, settings);
    addRoutes(own, { ...ADMIN_ROUTES, ...documentRoutes });
    const others = extensions.map((extension) =>
      ownController(extensionController(extension), settings),
    );
    const routes = Object.assign({}, ADMIN_ROUTES, ...extensions.map((each) => each.routes));
    return {
      module: EventBusAdminModule,
      imports,
      controllers: [own, ...others],
      providers: [
        AdminGateway,
        AdminExceptionFilter,
        { provide: ADMIN_SETTINGS, useValue: settings },
        {
          provide: ADMIN_HANDLERS,
          inject: [EventBusAdmin],
          useFactory: (admin: EventBusAdmin) => ({
            ...adminHandlers(admin, () => admin.now()),
            ...documentHandlers(routes),
          }),
        },
      ],
    };
  }

  /** Refuses to start if global guards are to protect the API, and there are none. */
  onApplicationBootstrap(): void {
    const { access } = this.settings;
    if (access === 'unguarded')
      new Logger('EventBusAdmin').warn(
        'The admin API is unguarded: everyone who reaches the port may command the event bus. Give access: { guards: [YourGuard] } to EventBusAdminModule.register.',
      );
    if (access !== 'global-guards') return;
    const config = this.moduleRef['container'].applicationConfig;
    const guards = [
      ...(config?.getGlobalGuards() ?? []),
      ...(config?.getGlobalRequestGuards() ?? []),
    ];
    if (guards.length === 0)
      throw refused(
        'access',
        "is 'global-guards', but the application has no global guard. Provide one as APP_GUARD, or give { guards: [YourGuard] }.",
      );
  }
}

function isAdminController(controller: Type<unknown>): boolean {
  return (controller.prototype as unknown) instanceof EventBusAdminController;
}

/** Extends the class, so that one class may be registered at two paths with different guards. */
function ownController(
  base: Type<RouteController>,
  { path, guards }: AdminSettings,
): Type<RouteController> {
  class Own extends (base as new (...parts: never[]) => RouteController) {}
  Object.defineProperty(Own, 'name', { value: base.name });
  if (!Reflect.hasMetadata('path', base)) Controller(path)(Own);
  if (guards.length > 0) UseGuards(...guards)(Own);
  return Own as Type<RouteController>;
}

function documentHandlers(routes: typeof ADMIN_ROUTES): AdminRouteHandlers<typeof documentRoutes> {
  const all = { ...routes, ...documentRoutes };
  return {
    getOpenApi: (_input, { basePath }) => ({
      status: 200,
      body: { ...openApiDocument(all, basePath) },
    }),
  };
}
