import {
  Inject,
  Req,
  RequestMapping,
  RequestMethod,
  Res,
  UseFilters,
  type Type,
} from '@nestjs/common';
import type { AdminRoute, AdminRoutes } from '../api/admin-route.js';
import { AdminExceptionFilter } from './admin-exception.filter.js';
import { AdminGateway } from './admin-gateway.js';
import type { AdminExtension } from './admin-options.js';
import type { HttpRequest } from './admin-request.js';
import { describeForSwagger } from './swagger-metadata.js';

/** What the methods of a controller need. */
export interface RouteController {
  readonly gateway: AdminGateway;
  readonly handlers: Readonly<Record<string, Parameters<AdminGateway['answer']>[1]>>;
}

const RIGHT = 'nest-event-bus:admin-right';
const PATH = 'path';

/**
 * Returns the right that a route of the admin API needs, for a guard: pass
 * `context.getHandler()`. Undefined for other handlers.
 */
export function adminRightOf(handler: object): AdminRoute['right'] | undefined {
  return Reflect.getMetadata(RIGHT, handler) as AdminRoute['right'] | undefined;
}

/**
 * Adds a method for each route to a controller class. A method that the class or its base has
 * written itself gets only what makes it a route.
 */
export function addRoutes(controller: Type<RouteController>, routes: AdminRoutes): void {
  for (const [operation, route] of Object.entries(routes)) {
    const prototype = controller.prototype as object;
    const descriptor =
      findMethod(prototype, operation) ?? defineMethod(prototype, operation, route);
    const method = descriptor.value as object;
    if (Reflect.hasMetadata(PATH, method)) continue;
    const path = route.path.replaceAll(/\{(\w+)\}/g, ':$1');
    RequestMapping({ path, method: RequestMethod[route.method] })(prototype, operation, descriptor);
    Req()(prototype, operation, 0);
    Res({ passthrough: true })(prototype, operation, 1);
    Reflect.defineMetadata(RIGHT, route.right, method);
    describeForSwagger(method, operation, route);
  }
}

/** Creates the controller of the routes of another package. */
export function extensionController(extension: AdminExtension): Type<RouteController> {
  class AdminExtensionController implements RouteController {
    constructor(
      readonly gateway: AdminGateway,
      readonly handlers: RouteController['handlers'],
    ) {}
  }
  Inject(AdminGateway)(AdminExtensionController, undefined, 0);
  Inject(extension.handlers)(AdminExtensionController, undefined, 1);
  UseFilters(AdminExceptionFilter)(AdminExtensionController);
  addRoutes(AdminExtensionController, extension.routes);
  return AdminExtensionController;
}

function defineMethod(
  prototype: object,
  operation: string,
  route: AdminRoute,
): TypedPropertyDescriptor<unknown> {
  const value = async function answer(
    this: RouteController,
    request: HttpRequest,
    response: object,
  ): Promise<unknown> {
    return this.gateway.answer(route, this.handlers[operation]!, request, response);
  };
  Object.defineProperty(value, 'name', { value: operation });
  const descriptor = { value, configurable: true, writable: true, enumerable: false };
  Object.defineProperty(prototype, operation, descriptor);
  return descriptor;
}

function findMethod(prototype: object, name: string): TypedPropertyDescriptor<unknown> | undefined {
  for (let each: object | null = prototype; each; each = Reflect.getPrototypeOf(each)) {
    const descriptor = Object.getOwnPropertyDescriptor(each, name);
    if (descriptor) return descriptor;
  }
  return undefined;
}
