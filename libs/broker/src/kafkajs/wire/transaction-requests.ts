import type { OffsetCommit } from '../../port/consumer.js';
import type { TopicPartition } from '../../port/record.js';
import { kafkajsRequest, ownRequest, type ApiRequest } from './api-request.js';
import { byTopic } from './by-topic.js';
import type { Coordinator } from './group-requests.js';
import { readPartitionCodes, writeOffsets, type PartitionCode } from './offset-requests.js';
import type { Reader } from './reader.js';
import type { Writer } from './writer.js';

/*
 * Transactions as every broker since Kafka 2.5 knows them: partitions and groups are added to a
 * transaction before it writes to them, and its producer keeps its epoch. Kafka 4's own flow
 * (transaction.version 2) starts with Produce 12, EndTxn 5 and TxnOffsetCommit 5; the two must not
 * be mixed, so nothing above the versions here is ever asked for.
 */

/** Whose transaction it is. */
export interface TransactionalProducer {
  readonly transactionalId: string;
  readonly producerId: bigint;
  readonly producerEpoch: number;
}

/** The member whose offsets they are; without a group's member: generation -1 and an empty id. */
export interface OffsetsOwner {
  readonly groupId: string;
  readonly generation: number;
  readonly memberId: string;
  readonly groupInstanceId?: string | null;
}

export interface TransactionAnswer {
  readonly code: number;
}

const TRANSACTION_COORDINATOR = 1;

export const findTransactionCoordinatorRequest = (
  transactionalId: string,
): ApiRequest<Coordinator> =>
  kafkajsRequest(
    'GroupCoordinator',
    // kafkajs calls every key so.
    { groupId: transactionalId, coordinatorType: TRANSACTION_COORDINATOR },
    [2],
  );

/** All of them or none: where one is bad, the others answer OPERATION_NOT_ATTEMPTED. */
export function addPartitionsRequest(
  producer: TransactionalProducer,
  partitions: readonly TopicPartition[],
): ApiRequest<readonly PartitionCode[]> {
  return ownRequest({
    apiKey: 24,
    apiName: 'AddPartitionsToTxn',
    versions: [3],
    flexibleFrom: 3,
    write(writer) {
      writeProducer(writer, producer);
      writer
        .compactArray(byTopic(partitions), ([topic, those]) => {
          writer.compactString(topic);
          writer.compactArray(those, ({ partition }) => writer.int32(partition)).noTags();
        })
        .noTags();
    },
    read: readPartitionCodes,
  });
}

/** Before offsets of this group can become part of the transaction. */
export function addOffsetsRequest(
  producer: TransactionalProducer,
  groupId: string,
): ApiRequest<TransactionAnswer> {
  return ownRequest({
    apiKey: 25,
    apiName: 'AddOffsetsToTxn',
    versions: [3],
    flexibleFrom: 3,
    write(writer) {
      writeProducer(writer, producer);
      writer.compactString(groupId).noTags();
    },
    read: readCode,
  });
}

/** To the coordinator of the group. Version 3 names the member and its generation: one that is not of the group any more is refused. */
export function offsetsInTransactionRequest(
  { transactionalId, producerId, producerEpoch }: TransactionalProducer,
  owner: OffsetsOwner,
  offsets: readonly OffsetCommit[],
): ApiRequest<readonly PartitionCode[]> {
  return ownRequest({
    apiKey: 28,
    apiName: 'TxnOffsetCommit',
    versions: [3],
    flexibleFrom: 3,
    write(writer) {
      writer.compactString(transactionalId).compactString(owner.groupId);
      writer.int64(producerId).int16(producerEpoch);
      writer.int32(owner.generation).compactString(owner.memberId);
      writer.compactNullableString(owner.groupInstanceId ?? null);
      writeOffsets(writer, offsets);
      writer.noTags();
    },
    read: readPartitionCodes,
  });
}

export function endTransactionRequest(
  producer: TransactionalProducer,
  isCommitted: boolean,
): ApiRequest<TransactionAnswer> {
  return ownRequest({
    apiKey: 26,
    apiName: 'EndTxn',
    versions: [3],
    flexibleFrom: 3,
    write(writer) {
      writeProducer(writer, producer);
      writer.boolean(isCommitted).noTags();
    },
    read: readCode,
  });
}

function writeProducer(
  writer: Writer,
  { transactionalId, producerId, producerEpoch }: TransactionalProducer,
): void {
  writer.compactString(transactionalId).int64(producerId).int16(producerEpoch);
}

function readCode(reader: Reader): TransactionAnswer {
  reader.int32();
  return { code: reader.int16() };
}
