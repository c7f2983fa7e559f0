import type { AdminCaller, AdminRouteHandlers } from '@nest-event-bus/core';
import type { OutboxCommandNote } from '../../admin/command-log.js';
import type { OutboxAdmin } from '../../admin/outbox-admin.js';
import type { DeadEventSelection } from '../../admin/outbox-plan.js';
import {
  blockedKeyAnswer,
  detailsAnswer,
  groupAnswer,
  listedAnswer,
  operationAnswer,
} from './outbox-answers.js';
import type { outboxRoutes } from './outbox-routes.js';
import { withHttpErrors } from './http-errors.js';

interface Selection extends Omit<DeadEventSelection, 'createdBefore'> {
  readonly createdBefore?: string;
}

const DEFAULT_PAGE = 100;

/** Answers the routes of the outbox. */
export function outboxHandlers(admin: OutboxAdmin): AdminRouteHandlers<typeof outboxRoutes> {
  return withHttpErrors<AdminRouteHandlers<typeof outboxRoutes>>({
    listOutboxEvents: async ({ query }) => {
      const { status, after, limit = DEFAULT_PAGE, ...where } = query;
      const { events, next } = await admin.list({
        ...selectionOf(where),
        ...{ status, limit, afterSequence: after },
      });
      return { status: 200, body: { events: events.map(listedAnswer), next } };
    },
    getOutboxEvent: async ({ params }) => ({
      status: 200,
      body: detailsAnswer(await admin.show(params.id)),
    }),
    listOutboxGroups: async ({ query }) => {
      const { groups, isComplete } = await admin.groups(selectionOf(query));
      return { status: 200, body: { groups: groups.map(groupAnswer), isComplete } };
    },
    planOutboxCommand: async ({ body }, caller) => {
      const { id, count, blocking, isComplete, groups } = await admin.plan(
        selectionOf(body.where),
        noteOf(caller, body),
      );
      const answer = { id, count, blocking, isComplete, groups: groups.map(groupAnswer) };
      return { status: 200, body: answer };
    },
    startOutboxRedrive: async ({ body }, caller) => {
      const { plan, where, rate } = body;
      const selection = selectionOf(where);
      const options = { ...noteOf(caller, body), rate };
      const operation = await admin.redrive({ id: plan, selection }, options);
      const location = `outbox/operations/${operation.id}`;
      return { status: 202, body: operationAnswer(operation), location };
    },
    listOutboxOperations: () => ({
      status: 200,
      body: { operations: admin.operations().map(operationAnswer) },
    }),
    getOutboxOperation: ({ params }) => ({
      status: 200,
      body: operationAnswer(admin.operation(params.id)),
    }),
    cancelOutboxOperation: async ({ params }, caller) => ({
      status: 200,
      body: operationAnswer(await admin.cancel(params.id, noteOf(caller, {}))),
    }),
    purgeOutboxEvents: async ({ body }, caller) => {
      const plan = { id: body.plan, selection: selectionOf(body.where) };
      return { status: 200, body: { purged: await admin.purge(plan, noteOf(caller, body)) } };
    },
    listOutboxBlockedKeys: async () => ({
      status: 200,
      body: { keys: (await admin.blockedKeys()).map(blockedKeyAnswer) },
    }),
    unblockOutboxKey: async ({ body }, caller) => ({
      status: 200,
      body: { events: await admin.unblockKey(body.key, noteOf(caller, body)) },
    }),
    skipOutboxKey: async ({ body }, caller) => ({
      status: 200,
      body: { events: await admin.skipKey(body.key, noteOf(caller, body)) },
    }),
  });
}

function selectionOf({ createdBefore, ...selection }: Selection = {}): DeadEventSelection {
  return createdBefore === undefined
    ? selection
    : { ...selection, createdBefore: Date.parse(createdBefore) };
}

const noteOf = (
  { by }: AdminCaller,
  { reason }: { readonly reason?: string },
): OutboxCommandNote => ({ by, reason });
