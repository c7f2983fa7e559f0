import { bindingRoutes } from './binding-routes.js';
import { fleetRoutes } from './fleet-routes.js';
import { letterRoutes } from './letter-routes.js';
import { operationRoutes } from './operation-routes.js';

/** All routes of the event bus, by the names of their operations. */
export const ADMIN_ROUTES = {
  ...bindingRoutes,
  ...fleetRoutes,
  ...letterRoutes,
  ...operationRoutes,
} as const;

export type EventBusAdminRoutes = typeof ADMIN_ROUTES;
