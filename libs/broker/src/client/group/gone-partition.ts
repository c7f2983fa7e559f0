import { UnknownPartitionError, UnknownTopicError, type BrokerError } from '../../port/errors.js';
import type { TopicPartition } from '../../port/record.js';
import type { Metadata } from '../../wire/index.js';

const UNKNOWN_TOPIC_OR_PARTITION = 3;

/** undefined unless the metadata say for sure that it does not exist. */
export function goneError(
  metadata: Metadata,
  { topic, partition }: TopicPartition,
): BrokerError | undefined {
  const known = metadata.topic(topic);
  const options = { brokerCode: UNKNOWN_TOPIC_OR_PARTITION };
  if (known?.code === UNKNOWN_TOPIC_OR_PARTITION)
    return new UnknownTopicError(topic, undefined, options);
  const isGone = known?.code === 0 && metadata.partition(topic, partition) === undefined;
  return isGone ? new UnknownPartitionError({ topic, partition }, undefined, options) : undefined;
}
