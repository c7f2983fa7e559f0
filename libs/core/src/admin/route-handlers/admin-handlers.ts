import type { AdminRouteHandlers } from '../api/admin-reply.js';
import type { EventBusAdminRoutes } from '../api/routes/admin-routes.js';
import type { EventBusAdmin } from '../event-bus-admin.js';
import { instancesAnswer } from '../answers/fleet-answers.js';
import { bindingHandlers } from './binding-handlers.js';
import { letterHandlers } from './letter-handlers.js';
import { operationHandlers } from './operation-handlers.js';

/** Answers all routes of the event bus. `now` returns the time of the bus. */
export function adminHandlers(
  admin: EventBusAdmin,
  now: () => number,
): AdminRouteHandlers<EventBusAdminRoutes> {
  return {
    ...bindingHandlers(admin),
    ...letterHandlers(admin, now),
    ...operationHandlers(admin),
    listInstances: async () => ({ status: 200, body: instancesAnswer(await admin.instances()) }),
  };
}
