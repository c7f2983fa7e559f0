import type { OffsetCommit } from '../../port/consumer.js';
import type { TopicPartition } from '../../port/record.js';
import { kafkajsRequest, ownRequest, type ApiRequest } from './api-request.js';
import { byTopic } from './by-topic.js';
import type { Coordinator } from './group-requests.js';
import { readPartitionCodes, writeOffsets, type PartitionCode } from './offset-requests.js';
import type { Reader } from './reader.js';
import type { TransactionFlow } from '../cluster/transaction-flow.js';
import type { Writer } from './writer.js';

/** By the version of these requests a broker tells the one flow from the other. */
const VERSIONS: Readonly<Record<TransactionFlow, readonly number[]>> = {
  announced: [3],
  implied: [5],
};
const TELLS_IDENTITY_FROM = 5;

/** Whose transaction it is. */
export interface TransactionalProducer {
  readonly transactionalId: string;
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly flow: TransactionFlow;
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

export interface EndedTransaction extends TransactionAnswer {
  /** Whom to write the next one as, where the end has raised the epoch. */
  readonly next?: { readonly producerId: bigint; readonly producerEpoch: number };
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
  { transactionalId, producerId, producerEpoch, flow }: TransactionalProducer,
  owner: OffsetsOwner,
  offsets: readonly OffsetCommit[],
): ApiRequest<readonly PartitionCode[]> {
  return ownRequest({
    apiKey: 28,
    apiName: 'TxnOffsetCommit',
    versions: VERSIONS[flow],
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
): ApiRequest<EndedTransaction> {
  return ownRequest({
    apiKey: 26,
    apiName: 'EndTxn',
    versions: VERSIONS[producer.flow],
    flexibleFrom: 3,
    write(writer) {
      writeProducer(writer, producer);
      writer.boolean(isCommitted).noTags();
    },
    read(reader, version) {
      const { code } = readCode(reader);
      if (code !== 0 || version < TELLS_IDENTITY_FROM) return { code };
      const next = { producerId: reader.bigint64(), producerEpoch: reader.int16() };
      // A negative id names nobody.
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

function readCode(reader: Reader): TransactionAnswer {
  reader.int32();
  return { code: reader.int16() };
}
