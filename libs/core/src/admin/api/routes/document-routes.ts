import { defineRoutes } from '../admin-route.js';
import { anything, record } from '../schema.js';

/** The routes that describe the API itself. */
export const documentRoutes = defineRoutes({
  getOpenApi: {
    method: 'GET',
    path: 'openapi.json',
    right: 'read',
    summary: 'Returns this document.',
    changes: false,
    answers: { 200: { description: 'An OpenAPI 3.1 document.', body: record(anything) } },
  },
});
