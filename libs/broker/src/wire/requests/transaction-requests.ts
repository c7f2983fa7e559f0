import type { OffsetCommit } from '../../port/consumer.js';
import type { TopicPartition } from '../../port/record.js';
import { kafkajsRequest, defineRequest, type ApiRequest } from './api-request.js';
import { byTopic } from './by-topic.js';
import type { CoordinatorResponse } from './group-requests.js';
import { readPartitionCodes, writeOffsets, type PartitionCode } from './offset-requests.js';
import type { Reader } from './reader.js';
import type { TransactionProtocol } from '../cluster/transaction-protocol.js';
import type { Writer } from './writer.js';

/** The version of these requests tells the broker which transaction protocol the producer uses. */
const VERSIONS: Readonly<Record<TransactionProtocol, readonly number[]>> = {
  v1: [3],
  v2: [5],
};
const RETURNS_EPOCH_FROM = 5;

/** The producer that owns the transaction. */
export interface TransactionalProducer {
  readonly transactionalId: string;
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly protocol: TransactionProtocol;
}

/** The group member whose offsets are sent. Without a member: generation -1 and an empty id. */
export interface TransactionGroupMember {
  readonly groupId: string;
  readonly generation: number;
  readonly memberId: string;
  readonly groupInstanceId?: string | null;
}

export interface TransactionResponse {
  readonly code: number;
}

export interface EndTransactionResponse extends TransactionResponse {
  /** The producer id and epoch of the next transaction, if the end has increased the epoch. */
  readonly next?: { readonly producerId: bigint; readonly producerEpoch: number };
}

const TRANSACTION_COORDINATOR = 1;

export const findTransactionCoordinatorRequest = (
  transactionalId: string,
): ApiRequest<CoordinatorResponse> =>
  kafkajsRequest(
    'GroupCoordinator',
    // In kafkajs the key of every kind of coordinator is named `groupId`.
    { groupId: transactionalId, coordinatorType: TRANSACTION_COORDINATOR },
    [2],
  );

/**
 * Adds all partitions or none. If one partition is refused, the others have the code
 * OPERATION_NOT_ATTEMPTED.
 */
export function addPartitionsRequest(
  producer: TransactionalProducer,
  partitions: readonly TopicPartition[],
): ApiRequest<readonly PartitionCode[]> {
  return defineRequest({
    apiKey: 24,
    apiName: 'AddPartitionsToTxn',
    versions: [3],
    flexibleFrom: 3,
    write(writer) {
      writeProducer(writer, producer);
      writer
        .compactArray(byTopic(partitions), ([topic, items]) => {
          writer.compactString(topic);
          writer.compactArray(items, ({ partition }) => writer.int32(partition)).noTags();
        })
        .noTags();
    },
    read: readPartitionCodes,
  });
}

/** Adds a group to the transaction, before its offsets can be committed with it. */
export function addOffsetsRequest(
  producer: TransactionalProducer,
  groupId: string,
): ApiRequest<TransactionResponse> {
  return defineRequest({
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

/**
 * Commits offsets with the transaction, at the coordinator of the group. Version 3 contains the
 * member and its generation, so that a member of an older generation is refused.
 */
export function transactionOffsetCommitRequest(
  { transactionalId, producerId, producerEpoch, protocol }: TransactionalProducer,
  owner: TransactionGroupMember,
  offsets: readonly OffsetCommit[],
): ApiRequest<readonly PartitionCode[]> {
  return defineRequest({
    apiKey: 28,
    apiName: 'TxnOffsetCommit',
    versions: VERSIONS[protocol],
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
): ApiRequest<EndTransactionResponse> {
  return defineRequest({
    apiKey: 26,
    apiName: 'EndTxn',
    versions: VERSIONS[producer.protocol],
    flexibleFrom: 3,
    write(writer) {
      writeProducer(writer, producer);
      writer.boolean(isCommitted).noTags();
    },
    read(reader, version) {
      const { code } = readCode(reader);
      if (code !== 0 || version < RETURNS_EPOCH_FROM) return { code };
      const next = { producerId: reader.bigint64(), producerEpoch: reader.int16() };
      // A negative id means that the response contains no producer id.
      return next.producerId < 0n ? { code } : { code, next };
    },
  });
}

function writeProducer(
  writer: Writer,
  { transactionalId, producerId, producerEpoch }: TransactionalProducer,
): void {
  writer.compactString(transactionalId).int64(producerId).int16(producerEpoch);
}

function readCode(reader: Reader): TransactionResponse {
  reader.int32();
  return { code: reader.int16() };
}
