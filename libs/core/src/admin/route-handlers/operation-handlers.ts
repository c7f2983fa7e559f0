import type { AdminRouteHandlers } from '../api/admin-reply.js';
import type { operationRoutes } from '../api/routes/operation-routes.js';
import type {
  AdminOperation as AdminOperationAnswer,
  AdminRunOperation,
} from '../api/schemas/operation-schemas.js';
import { readFilter } from '../answers/letter-filters.js';
import { operationAnswer } from '../answers/operation-answers.js';
import type { AdminOperation, OperationPace } from '../admin-operations.js';
import type { EventBusAdmin } from '../event-bus-admin.js';
import { bindingRef, noteOf, pathOf } from './binding-ref.js';

export function operationHandlers(
  admin: EventBusAdmin,
): AdminRouteHandlers<typeof operationRoutes> {
  const accepted = (name: string, operation: AdminOperation) => ({
    status: 202 as const,
    body: operationAnswer(operation),
    location: pathOf('bindings', name, 'dlt', 'operations', operation.plan.id),
  });
  return {
    createOperation: async (input, caller) => {
      const { where, reason, ramp, canary, ...request } = input.body;
      const operation = await admin.startOperation(bindingRef(input), {
        ...request,
        ...paceOf({ ramp, canary }),
        ...(where && { where: readFilter(where) }),
        ...noteOf(caller, { reason }),
      });
      return accepted(input.params.name, operation);
    },
    listOperations: async (input) => {
      const operations = await admin.operations(bindingRef(input));
      return { status: 200, body: { operations: operations.map(operationAnswer) } };
    },
    getOperation: async (input) => {
      const operation = await admin.operation(bindingRef(input), input.params.id);
      return { status: 200, body: operationAnswer(operation) };
    },
    followOperation: async (input, { signal }) => {
      const ref = bindingRef(input);
      // An unknown operation is refused before the stream begins.
      await admin.operation(ref, input.params.id);
      return { status: 200, body: answers(admin.follow(ref, input.params.id, signal)) };
    },
    runOperation: async (input, caller) => {
      const { reason, rate, ...pace } = input.body;
      const options = {
        ...noteOf(caller, { reason }),
        ...(rate !== undefined && { rate }),
        ...paceOf(pace),
      };
      const operation = await admin.runOperation(bindingRef(input), input.params.id, options);
      return accepted(input.params.name, operation);
    },
    approveOperation: async (input, caller) => {
      const note = noteOf(caller, input.body);
      const operation = await admin.approveOperation(bindingRef(input), input.params.id, note);
      return { status: 200, body: operationAnswer(operation) };
    },
    cancelOperation: async (input, caller) => {
      const note = noteOf(caller, {});
      const operation = await admin.cancelOperation(bindingRef(input), input.params.id, note);
      return { status: 200, body: operationAnswer(operation) };
    },
  };
}

/** The pattern of durations in the schemas permits the texts of the type Duration only. */
const paceOf = ({
  ramp,
  canary,
}: Pick<AdminRunOperation, 'ramp' | 'canary'>): Pick<OperationPace, 'ramp' | 'canary'> => ({
  ...(ramp && { ramp: ramp as OperationPace['ramp'] }),
  ...(canary !== undefined && { canary: canary as OperationPace['canary'] }),
});

async function* answers(
  operations: AsyncIterable<AdminOperation>,
): AsyncGenerator<AdminOperationAnswer, void> {
  for await (const operation of operations) yield operationAnswer(operation);
}
