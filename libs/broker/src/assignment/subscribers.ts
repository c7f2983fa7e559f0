import { compareText } from './protocol/topic-partitions.js';

interface Subscriber {
  readonly topics: readonly string[];
}

/** Returns the topics of all members, whose partition counts the leader needs. */
export function subscribedTopics(members: readonly Subscriber[]): readonly string[] {
  return [...subscribersByTopic(members).keys()];
}

/**
 * Returns the subscribers of each topic, each once and in the order of `members`; the topics are
 * sorted.
 */
export function subscribersByTopic<Member extends Subscriber>(
  members: readonly Member[],
): ReadonlyMap<string, readonly Member[]> {
  const subscribers = new Map<string, Member[]>();
  for (const member of members)
    for (const topic of member.topics) {
      const known = subscribers.get(topic);
      if (known === undefined) subscribers.set(topic, [member]);
      else if (known.at(-1) !== member) known.push(member);
    }
  return new Map([...subscribers].sort(([left], [right]) => compareText(left, right)));
}
