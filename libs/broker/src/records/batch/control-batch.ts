import type { ControlType } from './aborted-transactions.js';
import { MalformedBytesError } from '../malformed-bytes-error.js';
import type { RecordDecoder } from './record-decoder.js';
import { RecordBatchWriter } from './record-batch-writer.js';

const TYPE_OF: Readonly<Record<number, ControlType>> = { 0: 'abort', 1: 'commit' };
const NUMBER_OF: Readonly<Record<ControlType, number>> = { abort: 0, commit: 1 };

/** The key of a control record contains version and type. */
const KEY_BYTES = 4;
/** The value of an end marker contains version and coordinator epoch. */
const VALUE_BYTES = 6;

/** Returns the type of a control batch; undefined for types that do not end a transaction. */
export function readControlType(decoder: RecordDecoder): ControlType | undefined {
  decoder.read();
  if (decoder.keyLength < KEY_BYTES) {
    throw new MalformedBytesError(
      `it is a control batch whose key has ${decoder.keyLength} bytes instead of ${KEY_BYTES}`,
    );
  }
  return TYPE_OF[decoder.bytes.readInt16BE(decoder.keyStart + 2)];
}

export interface ControlBatchOptions {
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly timestamp: number;
  readonly coordinatorEpoch?: number;
}

/**
 * Encodes the end marker that a transaction coordinator writes to each partition of a transaction.
 */
export function encodeControlBatch(type: ControlType, options: ControlBatchOptions): Buffer {
  const key = Buffer.alloc(KEY_BYTES);
  key.writeInt16BE(NUMBER_OF[type], 2);
  const value = Buffer.alloc(VALUE_BYTES);
  value.writeInt32BE(options.coordinatorEpoch ?? 0, 2);
  const writer = new RecordBatchWriter();
  writer.append({ key, value }, options.timestamp);
  return writer.finish({
    producerId: options.producerId,
    producerEpoch: options.producerEpoch,
    transactional: true,
    control: true,
  });
}
