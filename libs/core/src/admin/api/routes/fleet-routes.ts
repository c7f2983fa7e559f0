import { defineRoutes } from '../admin-route.js';
import { instances } from '../schemas/fleet-schemas.js';

/** The processes of the group. */
export const fleetRoutes = defineRoutes({
  listInstances: {
    method: 'GET',
    path: 'instances',
    right: 'read',
    summary: 'Lists the processes of the fleet with their assignments, pauses, lag and version.',
    changes: false,
    answers: {
      200: { description: 'The processes, and the orders in force.', body: instances },
    },
  },
});
