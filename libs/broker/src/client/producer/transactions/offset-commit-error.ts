import {
  FencedError,
  MalformedResponseError,
  OffsetMetadataTooLargeError,
  ProducerFencedError,
  UnknownTopicError,
} from '../../../port/errors.js';
import type { TransactionOffsets } from '../../../port/producer.js';
import type { TopicPartition } from '../../../port/record.js';
import {
  errorOfCode,
  reactionTo,
  type PartitionCode,
  type TransactionalProducer,
} from '../../../wire/index.js';

const UNKNOWN_TOPIC_OR_PARTITION = 3;
const OFFSET_METADATA_TOO_LARGE = 12;

/** Returns an error if the group's coordinator did not accept all offsets; otherwise undefined. */
export function offsetCommitError(
  { groupId, offsets }: TransactionOffsets,
  { transactionalId }: TransactionalProducer,
  codes: readonly PartitionCode[],
): Error | undefined {
  const refused = codes.find(({ code }) => code !== 0);
  if (refused === undefined) return missingInResponse(groupId, offsets, codes);
  const { topic, code } = refused;
  const sameCode = codes.filter((each) => each.code === code);
  const partitions = sameCode.map((each) => ({ topic: each.topic, partition: each.partition }));
  const names = namesOf(partitions);
  const cause = errorOfCode(code, `Group "${groupId}" refused offsets of the transaction`);
  const options = { cause, brokerCode: code };
  switch (reactionTo('transactionOffsets', code)) {
    case 'fenced':
      return new FencedError(
        partitions,
        `The offsets of ${names} cannot be committed with the transaction: the group has a newer generation without this member. Abort the transaction; the new owners of the partitions process the records.`,
        options,
      );
    case 'producer-fenced':
      return new ProducerFencedError(transactionalId, undefined, options);
    default:
  }
  if (code === UNKNOWN_TOPIC_OR_PARTITION) return new UnknownTopicError(topic, undefined, options);
  if (code === OFFSET_METADATA_TOO_LARGE)
    return new OffsetMetadataTooLargeError(
      partitions,
      `Not committed: ${names}. The metadata is longer than the broker allows (offset.metadata.max.bytes, 4096 UTF-16 units by default). Commit with shorter metadata.`,
      options,
    );
  return cause;
}

/**
 * Returns an error if the response does not contain every partition, because the result of a
 * missing partition is unknown.
 */
function missingInResponse(
  groupId: string,
  asked: readonly TopicPartition[],
  answered: readonly TopicPartition[],
): Error | undefined {
  const missing = asked.filter(
    ({ topic, partition }) =>
      !answered.some((each) => each.partition === partition && each.topic === topic),
  );
  if (missing.length === 0) return undefined;
  return new MalformedResponseError(
    `The response of the coordinator of group "${groupId}" does not contain ${namesOf(missing)}, although their offsets were sent. Abort the transaction.`,
  );
}

function namesOf(partitions: readonly TopicPartition[]): string {
  return partitions.map(({ topic, partition }) => `${topic}/${partition}`).join(', ');
}
