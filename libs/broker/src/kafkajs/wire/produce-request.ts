import type { TopicPartition } from '../../port/record.js';
import type { ApiRequest } from './api-request.js';
import { byTopic } from './by-topic.js';
import { Reader } from './reader.js';
import { Writer } from './writer.js';

export interface ProducePartition extends TopicPartition {
  /** One record batch: two for a partition in one request are refused (INVALID_RECORD). */
  readonly batch: Buffer;
}

export interface ProducedPartition extends TopicPartition {
  readonly code: number;
  readonly baseOffset: number;
  /** The broker's time for the whole batch, -1 where the records keep their own. */
  readonly appendTime: number;
  readonly recordErrors: readonly { readonly index: number; readonly message: string | null }[];
  readonly message: string | null;
}

/** Version 8 tells which records of a refused batch were at fault. Acknowledged by all in-sync replicas, always. */
export function produceRequest(
  timeoutMs: number,
  partitions: readonly ProducePartition[],
  transactionalId: string | null = null,
): ApiRequest<readonly ProducedPartition[]> {
  return {
    apiKey: 0,
    apiName: 'Produce',
    versions: [8],
    encode() {
      const bytes = partitions.reduce((sum, { batch }) => sum + batch.length, 0);
      const writer = new Writer(
        bytes + 64 + (transactionalId?.length ?? 0) * 3 + partitions.length * 64,
      );
      writer.nullableString(transactionalId).int16(-1).int32(timeoutMs);
      writer.array(byTopic(partitions), ([topic, those]) => {
        writer.string(topic).array(those, ({ partition, batch }) => {
          writer.int32(partition).bytes(batch);
        });
      });
      return writer.toBuffer();
    },
    decode(body) {
      const reader = new Reader(body);
      return reader
        .array(() => {
          const topic = reader.string();
          return reader.array(() => ({
            topic,
            partition: reader.int32(),
            code: reader.int16(),
            baseOffset: reader.int64(),
            appendTime: reader.int64(),
            logStartOffset: reader.int64(),
            recordErrors: reader.array(() => ({
              index: reader.int32(),
              message: reader.nullableString(),
            })),
            message: reader.nullableString(),
          }));
        })
        .flat();
    },
    throttleTimeMs: (body) => body.readInt32BE(body.length - 4),
  };
}
