import type { Problem } from '../problems/ongoing-problems.js';
import type { NeededTopic, TopicUser } from './topic-plan.js';

export const missingTopicKey = ({ name }: NeededTopic): string => `missing ${name}`;

export function missingTopic({ name: binding }: TopicUser, topic: NeededTopic): Problem {
  return {
    key: missingTopicKey(topic),
    message: missingTopicWarning(binding, topic),
    ended: `The ${topic.role} topic '${topic.name}' of binding '${binding}' exists`,
    reason: `the ${topic.role} topic '${topic.name}' does not exist`,
    quietMs: Infinity,
  };
}

export function refusedTopics(key: string, context: Problem['context']): Problem {
  return {
    key,
    message: 'Topics could not be created. Trying again',
    ended: 'The topics have been created, or are not needed any more',
    context,
    quietMs: Infinity,
  };
}

function missingTopicWarning(binding: string, needed: NeededTopic): string {
  return `The ${needed.role} topic '${needed.name}' of binding '${binding}' does not exist: a record that fails would block its partition. Create it, set provisioning: 'create', or ${remedy(needed)}.`;
}

const remedy = ({ role }: NeededTopic): string =>
  role === 'retry' ? 'correct retry.tiers' : 'correct dlt.topic or dlt.topicSuffix';
