export {
  createAdminClient,
  type AdminClient,
  type AdminClientOptions,
  type AdminClientRequest,
  type FetchFunction,
  type FetchResponse,
} from './admin-client.js';
export { AdminClientError } from './admin-client-error.js';
export type { ByteStream } from './event-stream.js';
export { ADMIN_ROUTES, type EventBusAdminRoutes } from '../admin/api/routes/admin-routes.js';
export type {
  AdminAnswerKind,
  AdminErrorStatus,
  AdminInput,
  AdminMethod,
  AdminOutput,
  AdminRight,
  AdminRoute,
  AdminRoutes,
} from '../admin/api/admin-route.js';
export type { JsonSchema, ObjectOf, Schema, ValueOf } from '../admin/api/schema.js';
export type { AdminProblem } from '../admin/api/schemas/common-schemas.js';
export type { AdminBinding, AdminBindingDetails } from '../admin/api/schemas/binding-schemas.js';
export type {
  AdminLetter,
  AdminLetterFilter,
  AdminLetterStats,
  AdminPayload,
} from '../admin/api/schemas/letter-schemas.js';
export type { AdminNewOperation, AdminOperation } from '../admin/api/schemas/operation-schemas.js';
