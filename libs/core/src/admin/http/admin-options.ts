import type { CanActivate, InjectionToken, ModuleMetadata, Type } from '@nestjs/common';
import type { AdminRight, AdminRoutes } from '../api/admin-route.js';
import type { EventBusAdminController } from './event-bus-admin.controller.js';

/** Who may call the API. */
export type AdminAccess =
  | {
      /** Guards of all routes. Their dependencies come from `imports`. */
      readonly guards: readonly (Type<CanActivate> | CanActivate)[];
      /** Origins of other sites whose pages may send commands: `https://ops.example.com`. */
      readonly trustedOrigins?: readonly string[];
    }
  | {
      /** The global guards of the application apply. Without any, the application does not start. */
      readonly guards: 'global-guards';
      readonly trustedOrigins?: readonly string[];
    }
  /** The same as `{ guards: 'global-guards' }`. */
  | 'global-guards'
  /** Everyone who reaches the port may call the API. */
  | 'unguarded';

/** Routes of another package, with their handlers. */
export interface AdminExtension {
  readonly routes: AdminRoutes;
  /** Token of the provider that answers them: an `AdminRouteHandlers` of these routes. */
  readonly handlers: InjectionToken;
}

export interface EventBusAdminModuleOptions extends Pick<ModuleMetadata, 'imports'> {
  /** Path of the API. Default `eventbus`. */
  readonly path?: string;
  readonly access: AdminAccess;
  /** Rights that the API has. Default: read, control and redrive. */
  readonly allow?: readonly AdminRight[];
  /** Returns who sends the request, for the audit: such as the user that a guard has found. */
  readonly who?: (request: never) => string | undefined | Promise<string | undefined>;
  /** A class that extends `EventBusAdminController`, with your own decorators. */
  readonly controller?: Type<EventBusAdminController>;
  /** Routes of other packages. Their handlers come from `imports`. */
  readonly extensions?: readonly AdminExtension[];
}

/** The options, checked. */
export interface AdminSettings {
  readonly path: string;
  readonly guards: readonly (Type<CanActivate> | CanActivate)[];
  readonly access: 'guards' | 'global-guards' | 'unguarded';
  readonly trustedOrigins: ReadonlySet<string>;
  readonly allow: ReadonlySet<AdminRight>;
  readonly who: (request: never) => string | undefined | Promise<string | undefined>;
}

export const ADMIN_SETTINGS = Symbol('ADMIN_SETTINGS');
export const ADMIN_HANDLERS = Symbol('ADMIN_HANDLERS');
