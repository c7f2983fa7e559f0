import type { TopicBindingProperties } from '../../config/properties/topic-binding-properties.js';
import type { CommandNote } from '../../containers/lifecycle/lifecycle-manager.js';
import type { BindingSnapshot } from '../../containers/container-registration.js';
import type { BindingRef } from '../../model/states/binding-ref.js';
import type { AdminCaller, AdminRouteHandlers } from '../api/admin-reply.js';
import type { bindingRoutes } from '../api/routes/binding-routes.js';
import type { AdminBinding } from '../api/schemas/binding-schemas.js';
import { bindingAnswer, bindingDetailsAnswer } from '../answers/binding-answers.js';
import type { EventBusAdmin } from '../event-bus-admin.js';
import { bindingRef, noteOf, pathOf } from './binding-ref.js';

type Input = Parameters<typeof bindingRef>[0] & { readonly body: { readonly reason?: string } };
type Answer = { readonly status: 200; readonly body: AdminBinding };

export function bindingHandlers(admin: EventBusAdmin): AdminRouteHandlers<typeof bindingRoutes> {
  const command =
    (give: (ref: BindingRef, note: CommandNote) => Promise<BindingSnapshot>) =>
    async (input: Input, caller: AdminCaller): Promise<Answer> => {
      const snapshot = await give(bindingRef(input), noteOf(caller, input.body));
      return { status: 200, body: bindingAnswer(snapshot) };
    };
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
    startBinding: command((ref, note) => admin.start(ref, note)),
    stopBinding: command((ref, note) => admin.stop(ref, note)),
    pauseBinding: command((ref, note) => admin.pause(ref, note)),
    resumeBinding: command((ref, note) => admin.resume(ref, note)),
    pauseTier: (input, caller) =>
      command((ref, note) => admin.pauseTier(ref, input.params.tier, note))(input, caller),
    resumeTier: (input, caller) =>
      command((ref, note) => admin.resumeTier(ref, input.params.tier, note))(input, caller),
    decide: (input, caller) => {
      const { topic, partition, offset, decision } = input.body;
      const record = { topic, partition, ...(offset !== undefined && { offset: BigInt(offset) }) };
      return command((ref, note) => admin.decide(ref, record, decision, note))(input, caller);
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
