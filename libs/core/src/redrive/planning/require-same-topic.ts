import { RedriveRefusedException } from '../../errors/redrive-errors.js';
import type { LedgerTopics } from '../ledger/ledger-topic.js';
import type { RedrivePlan } from './redrive-plan.js';

/** Refuses a plan whose offsets name letters of a dead-letter topic that no longer exists. */
export function requireSameTopic(
  { binding, deadLetterTopic, deadLetterTopicId }: RedrivePlan,
  present: Pick<LedgerTopics, 'deadLetterTopicId'>,
): void {
  if (present.deadLetterTopicId === deadLetterTopicId) return;
  throw new RedriveRefusedException(
    binding,
    `topic '${deadLetterTopic}' was deleted and created again since the plan was made, so its offsets name other letters. Make a new plan.`,
  );
}
