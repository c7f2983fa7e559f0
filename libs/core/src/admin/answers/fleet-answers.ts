import type { AdminCommandResult } from '../api/schemas/binding-schemas.js';
import type { AdminInstances } from '../api/schemas/fleet-schemas.js';
import type { FleetState } from '../../fleet/fleet-answer.js';
import type { CommandOutcome } from '../event-bus-admin.js';
import { answerTime } from './answer-time.js';
import { bindingAnswer } from './binding-answers.js';

export function commandResultAnswer({ binding, fleet }: CommandOutcome): AdminCommandResult {
  if (!fleet) return { ...bindingAnswer(binding), reach: { scope: 'process', isComplete: true } };
  const { id, instances, isComplete, validUntil } = fleet;
  return {
    ...bindingAnswer(binding),
    reach: {
      ...{ scope: 'fleet', isComplete, command: id, validUntil: answerTime(validUntil) },
      instances: instances.map(({ reportedAt, ...each }) => ({
        ...each,
        ...(reportedAt !== undefined && { reportedAt: answerTime(reportedAt) }),
      })),
    },
  };
}

export function instancesAnswer({ instances, orders, scope }: FleetState): AdminInstances {
  return {
    scope,
    instances: instances.map(({ at, bindings, host, isSilent, name, startedAt, version }) => ({
      ...{ name, host, version, isSilent },
      startedAt: answerTime(startedAt),
      reportedAt: answerTime(at),
      bindings: bindings.map(
        ({ assignment, cluster, groupId, lag, name: binding, pausedTiers, pauses, state }) => ({
          ...{ name: binding, cluster, groupId, state, pauses, pausedTiers, assignment, lag },
        }),
      ),
    })),
    orders: orders.map(({ at, binding, by, order, reason, tier }) => ({
      ...{ binding: binding.name, cluster: binding.cluster, order, at: answerTime(at) },
      ...(tier !== undefined && { tier }),
      ...(by !== undefined && { by }),
      ...(reason !== undefined && { reason }),
    })),
  };
}
