import { UnknownPartitionError } from '../../port/errors.js';
import type { TopicMetadata } from '../../wire/index.js';
import { retryOrThrow, type AdminCall } from './admin-call.js';
import { topicError } from './topic-error.js';

const UNKNOWN_TOPIC = 3;

/**
 * Refreshes the metadata first, because the admin may be the first session that uses the topic.
 * Rejects with UnknownTopicError if the topic does not exist.
 */
export function requireTopic(call: AdminCall, name: string): Promise<TopicMetadata> {
  return call.repeat<TopicMetadata>(async () => {
    await call.refresh([name]);
    const topic = call.cluster.metadata.topic(name);
    if (topic?.code === 0) return topic;
    const code = topic?.code ?? UNKNOWN_TOPIC;
    return retryOrThrow(code, topicError({ name, code }, `Asking for topic "${name}"`));
  });
}

export async function requirePartition(
  call: AdminCall,
  topic: string,
  partition: number,
): Promise<TopicMetadata> {
  const known = await requireTopic(call, topic);
  if (known.partitions.some((each) => each.partition === partition)) return known;
  throw new UnknownPartitionError({ topic, partition });
}
