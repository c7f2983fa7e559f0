import { Inject, UseFilters, type Type } from '@nestjs/common';
import { ADMIN_ROUTES } from '../api/routes/admin-routes.js';
import { documentRoutes } from '../api/routes/document-routes.js';
import { AdminExceptionFilter } from './admin-exception.filter.js';
import { AdminGateway } from './admin-gateway.js';
import { ADMIN_HANDLERS } from './admin-options.js';
import { addRoutes, type RouteController } from './route-controller.js';

/**
 * The controller of the admin API. To add your own decorators, extend it, and pass your class to
 * `EventBusAdminModule.register({ controller })`.
 */
@UseFilters(AdminExceptionFilter)
export class EventBusAdminController {
  constructor(
    @Inject(AdminGateway) readonly gateway: object,
    @Inject(ADMIN_HANDLERS) readonly handlers: object,
  ) {}
}

addRoutes(EventBusAdminController as Type<RouteController>, { ...ADMIN_ROUTES, ...documentRoutes });
