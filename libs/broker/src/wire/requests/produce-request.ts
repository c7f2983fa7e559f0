import type { TopicPartition } from '../../port/record.js';
import type { ApiRequest } from './api-request.js';
import { byTopic } from './by-topic.js';
import type { TransactionProtocol } from '../cluster/transaction-protocol.js';
import { Reader } from './reader.js';
import { Writer } from './writer.js';

export interface ProducePartition extends TopicPartition {
  /**
   * A single record batch. The broker refuses two batches of a partition in one request
   * (INVALID_RECORD).
   */
  readonly batch: Buffer;
}

export interface ProducedPartition extends TopicPartition {
  readonly code: number;
  readonly baseOffset: number;
  /**
   * The broker's append time for the whole batch, or -1 if the records keep their own timestamps.
   */
  readonly appendTime: number;
  readonly recordErrors: readonly { readonly index: number; readonly message: string | null }[];
  readonly message: string | null;
}

const FLEXIBLE_FROM = 9;
/**
 * Version 12 makes a broker add the partition to the transaction, which is allowed in transaction
 * protocol v2 only.
 */
const VERSIONS: Readonly<Record<TransactionProtocol, readonly number[]>> = {
  v1: [8],
  v2: [12],
};

/**
 * Version 8 names the faulty records of a refused batch. Every write is acknowledged by all in-sync
 * replicas.
 */
export function produceRequest(
  timeoutMs: number,
  partitions: readonly ProducePartition[],
  transactionalId: string | null = null,
  protocol: TransactionProtocol = 'v1',
): ApiRequest<readonly ProducedPartition[]> {
  return {
    apiKey: 0,
    apiName: 'Produce',
    versions: VERSIONS[protocol],
    flexibleFrom: FLEXIBLE_FROM,
    encode(version) {
      const bytes = partitions.reduce((sum, { batch }) => sum + batch.length, 0);
      // Reserves the size of the whole request, because enlarging the buffer later would copy the
      // batches.
      const writer = new Writer(
        bytes + 64 + (transactionalId?.length ?? 0) * 3 + partitions.length * 64,
      );
      const write = version >= FLEXIBLE_FROM ? writeCompact : writePlain;
      write(writer, { transactionalId, timeoutMs, topics: byTopic(partitions) });
      return writer.toBuffer();
    },
    decode: (body, version) => readResponse(new Reader(body), version),
    throttleTimeMs(body, version) {
      // In flexible versions the throttle time follows tagged fields of unknown length, so its
      // position is known only after the response is decoded.
      if (version < FLEXIBLE_FROM) return body.readInt32BE(body.length - 4);
      const reader = new Reader(body);
      readResponse(reader, version);
      return reader.int32();
    },
  };
}

interface ProduceBody {
  readonly transactionalId: string | null;
  readonly timeoutMs: number;
  readonly topics: ReturnType<typeof byTopic<ProducePartition>>;
}

function writePlain(writer: Writer, { transactionalId, timeoutMs, topics }: ProduceBody): void {
  writer.nullableString(transactionalId).int16(-1).int32(timeoutMs);
  writer.array(topics, ([topic, items]) => {
    writer.string(topic).array(items, ({ partition, batch }) => {
      writer.int32(partition).bytes(batch);
    });
  });
}

function writeCompact(writer: Writer, { transactionalId, timeoutMs, topics }: ProduceBody): void {
  writer.compactNullableString(transactionalId).int16(-1).int32(timeoutMs);
  writer.compactArray(topics, ([topic, items]) => {
    writer.compactString(topic);
    writer.compactArray(items, ({ partition, batch }) => {
      writer.int32(partition).compactBytes(batch).noTags();
    });
    writer.noTags();
  });
  writer.noTags();
}

function readResponse(reader: Reader, version: number): readonly ProducedPartition[] {
  return version >= FLEXIBLE_FROM ? readCompact(reader) : readPlain(reader);
}

function readPlain(reader: Reader): readonly ProducedPartition[] {
  return reader
    .array(() => {
      const topic = reader.string();
      return reader.array(() => ({
        topic,
        ...readPartitionResult(reader),
        recordErrors: reader.array(() => ({
          index: reader.int32(),
          message: reader.nullableString(),
        })),
        message: reader.nullableString(),
      }));
    })
    .flat();
}

function readCompact(reader: Reader): readonly ProducedPartition[] {
  return reader
    .compactArray(() => {
      const topic = reader.compactString();
      const partitions = reader.compactArray(() => {
        const outcome = readPartitionResult(reader);
        const recordErrors = reader.compactArray(() => {
          const error = { index: reader.int32(), message: reader.compactNullableString() };
          reader.skipTags();
          return error;
        });
        const message = reader.compactNullableString();
        reader.skipTags();
        return { topic, ...outcome, recordErrors, message };
      });
      reader.skipTags();
      return partitions;
    })
    .flat();
}

function readPartitionResult(reader: Reader) {
  return {
    partition: reader.int32(),
    code: reader.int16(),
    baseOffset: reader.int64(),
    appendTime: reader.int64(),
    logStartOffset: reader.int64(),
  };
}
