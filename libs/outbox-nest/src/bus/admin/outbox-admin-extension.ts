import type { AdminExtension } from '@nest-event-bus/core';
import { Module } from '@nestjs/common';
import { OutboxAdmin } from '../../admin/outbox-admin.js';
import { outboxHandlers } from './outbox-handlers.js';
import { outboxRoutes } from './outbox-routes.js';

const OUTBOX_ADMIN_HANDLERS = Symbol('OUTBOX_ADMIN_HANDLERS');

/** Provides what answers the routes of the outbox. Needs a global `OutboxModule`. */
@Module({
  providers: [
    { provide: OUTBOX_ADMIN_HANDLERS, useFactory: outboxHandlers, inject: [OutboxAdmin] },
  ],
  exports: [OUTBOX_ADMIN_HANDLERS],
})
export class OutboxAdminModule {}

/** Adds the routes of the outbox to the admin API: an element of its `extensions`. */
export const outboxAdminExtension: AdminExtension = {
  routes: outboxRoutes,
  handlers: OUTBOX_ADMIN_HANDLERS,
};
