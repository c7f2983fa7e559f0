import type { TopicBindingProperties } from '../../config/properties/topic-binding-properties.js';
import type { FleetAction } from '../../fleet/fleet-entry.js';
import type { AdminCaller, AdminReply, AdminRouteHandlers } from '../api/admin-reply.js';
import type { AdminInput } from '../api/admin-route.js';
import type { bindingRoutes } from '../api/routes/binding-routes.js';
import { bindingAnswer, bindingDetailsAnswer } from '../answers/binding-answers.js';
import { configurationAnswer } from '../answers/configuration-answers.js';
import { commandResultAnswer } from '../answers/fleet-answers.js';
import type { EventBusAdmin } from '../event-bus-admin.js';
import { bindingRef, noteOf, pathOf } from './binding-ref.js';
import { durationOf, LONGEST_WAIT_MS } from './replay-query.js';

type CommandInput = AdminInput<(typeof bindingRoutes)['pauseBinding']>;
type CommandReply = AdminReply<(typeof bindingRoutes)['pauseBinding']>;

const LONGEST_VALIDITY_MS = 86_400_000;

export function bindingHandlers(admin: EventBusAdmin): AdminRouteHandlers<typeof bindingRoutes> {
  const give = async (
    action: FleetAction,
    input: CommandInput,
    caller: AdminCaller,
  ): Promise<CommandReply> => {
    const { scope, validFor, wait } = input.query;
    const outcome = await admin.command(action, bindingRef(input), {
      ...noteOf(caller, input.body),
      ...(scope && { scope }),
      ...(wait !== undefined && { waitMs: durationOf('wait', wait, LONGEST_WAIT_MS) }),
      ...(validFor !== undefined && {
        validMs: durationOf('validFor', validFor, LONGEST_VALIDITY_MS),
      }),
    });
    const body = commandResultAnswer(outcome);
    return { status: body.reach.isComplete ? 200 : 207, body };
  };
  const command =
    (name: 'start' | 'stop' | 'pause' | 'resume') =>
    (input: CommandInput, caller: AdminCaller): Promise<CommandReply> =>
      give({ name }, input, caller);
  return {
    listBindings: () => {
      const { bindings, published } = admin.listBindings();
      return {
        status: 200,
        body: {
          bindings: bindings.map(bindingAnswer),
          published: published.map(({ binding, cluster, topic }) => ({
            ...{ name: binding, cluster, topic },
          })),
        },
      };
    },
    registerBinding: async ({ query: { cluster }, body }, caller) => {
      const { name, handler, reason, ...properties } = body;
      const snapshot = await admin.register(name, properties as TopicBindingProperties, {
        ...(handler !== undefined && { handler }),
        ...(cluster !== undefined && { cluster }),
        ...noteOf(caller, { reason }),
      });
      const location = pathOf('bindings', name);
      return { status: 201, body: bindingAnswer(snapshot), location };
    },
    getBinding: async (input) => {
      const view = await admin.binding(bindingRef(input));
      return { status: 200, body: bindingDetailsAnswer(view) };
    },
    unregisterBinding: async (input, caller) => {
      await admin.unregister(bindingRef(input), noteOf(caller, input.body));
      return { status: 204 };
    },
    startBinding: command('start'),
    stopBinding: command('stop'),
    pauseBinding: command('pause'),
    resumeBinding: command('resume'),
    pauseTier: (input, caller) =>
      give({ name: 'pause-tier', tier: input.params.tier }, input, caller),
    resumeTier: (input, caller) =>
      give({ name: 'resume-tier', tier: input.params.tier }, input, caller),
    decide: (input, caller) => {
      const { reason: _reason, ...record } = input.body;
      return give({ name: 'decide', ...record }, input, caller);
    },
    getConfiguration: (input) => ({
      status: 200,
      body: configurationAnswer(admin.configuration(bindingRef(input))),
    }),
    changeConfiguration: async (input, caller) => {
      const { changes } = input.body;
      const note = noteOf(caller, input.body);
      const changed = await admin.configure(bindingRef(input), changes, note);
      return { status: 200, body: configurationAnswer(changed) };
    },
    getHealth: () => {
      const { status, isShuttingDown, bindings } = admin.health();
      return {
        status: 200,
        body: {
          status,
          isShuttingDown,
          bindings: bindings.map(({ binding, ...health }) => ({ name: binding, ...health })),
        },
      };
    },
  };
}
