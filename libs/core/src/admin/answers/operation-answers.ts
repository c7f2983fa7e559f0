import { errorReasonOf } from '@nest-event-bus/broker';
import type { AdminOperation as AdminOperationAnswer } from '../api/schemas/operation-schemas.js';
import { EventBusException } from '../../errors/event-bus-exception.js';
import type { RedrivePlan } from '../../redrive/planning/redrive-plan.js';
import type { NodeBrake } from '../../redrive/running/redrive-report.js';
import type { AdminOperation } from '../admin-operations.js';
import { answerTime } from './answer-time.js';
import { groupAnswer } from './letter-answers.js';
import { filterAnswer } from './letter-filters.js';

export function operationAnswer({ plan, report, failure }: AdminOperation): AdminOperationAnswer {
  const { state, delivery, selected, replayed, failed, skipped, remaining } = report;
  const { id, binding, cluster, target, targetTopic, deadLetterTopic, groupCount } = plan;
  return {
    ...{ id, binding, cluster, state, targetTopic, delivery, deadLetterTopic, groupCount },
    createdAt: answerTime(plan.createdAt),
    createdBy: plan.createdBy,
    ...(plan.reason !== undefined && { reason: plan.reason }),
    target: target === 'origin' ? target : { ...target },
    ...(plan.filter && { filter: filterAnswer(plan.filter) }),
    ...{ selected, replayed, failed, skipped: countsOf(skipped), remaining },
    ...(report.outcomes && { outcomes: countsOf({ ...report.outcomes }) }),
    ...(report.canary && { canary: report.canary }),
    ...(report.brakes && { brakes: report.brakes.map(brakeAnswer) }),
    partitions: plan.partitions.map(partitionAnswer),
    notSelected: countsOf(plan.skipped),
    groups: plan.groups.map(groupAnswer),
    ...(failure !== undefined && { failure: failureAnswer(failure) }),
  };
}

const partitionAnswer = ({
  partition,
  from,
  to,
  selected,
}: RedrivePlan['partitions'][number]): AdminOperationAnswer['partitions'][number] => ({
  partition,
  from: String(from),
  to: String(to),
  selected,
});

const brakeAnswer = ({
  at,
  ...brake
}: NodeBrake): NonNullable<AdminOperationAnswer['brakes']>[number] => ({
  ...brake,
  at: answerTime(at),
});

const countsOf = (counts: Readonly<Record<string, number>>): Readonly<Record<string, number>> => ({
  ...counts,
});

/** An error of another library may quote a payload, so only its kind is told. */
function failureAnswer(failure: unknown): AdminOperationAnswer['failure'] {
  const code = failure instanceof EventBusException ? failure.code : 'OPERATION_FAILED';
  return { code, detail: errorReasonOf(failure) };
}
