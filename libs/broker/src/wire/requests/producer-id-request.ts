import { defineRequest, type ApiRequest } from './api-request.js';

export interface ProducerIdResponse {
  readonly code: number;
  /**
   * The producer id; -1 if the cluster has none available. A broker that has just started answers
   * -1 without an error code.
   */
  readonly producerId: bigint;
  readonly producerEpoch: number;
}

interface CurrentIdentity {
  readonly producerId: bigint;
  readonly producerEpoch: number;
}

const NO_IDENTITY: CurrentIdentity = { producerId: -1n, producerEpoch: -1 };

/** The transaction timeout has no effect without transactions. */
const UNUSED_TRANSACTION_TIMEOUT_MS = 2 ** 31 - 1;

/**
 * Requests a producer id for sends outside of transactions, from any broker. Version 3 can contain
 * the current id and epoch, but without a transactional id the broker still returns a new id. The
 * producer therefore increases its epoch by itself, as in Java.
 */
export function producerIdRequest(): ApiRequest<ProducerIdResponse> {
  return initProducerIdRequest([2, 3, 4], null, UNUSED_TRANSACTION_TIMEOUT_MS, NO_IDENTITY);
}

/**
 * Makes the producer the only one with its transactional id, in a new epoch. The request must be
 * sent to the coordinator of the id. With `current` the request is refused if another producer has
 * taken over the id. Without it, that producer would be fenced.
 */
export function transactionalProducerIdRequest(
  transactionalId: string,
  timeoutMs: number,
  current: CurrentIdentity = NO_IDENTITY,
): ApiRequest<ProducerIdResponse> {
  return initProducerIdRequest([3, 4], transactionalId, timeoutMs, current);
}

function initProducerIdRequest(
  versions: readonly number[],
  transactionalId: string | null,
  timeoutMs: number,
  current: CurrentIdentity,
): ApiRequest<ProducerIdResponse> {
  return defineRequest({
    apiKey: 22,
    apiName: 'InitProducerId',
    versions,
    flexibleFrom: 2,
    write(writer, version) {
      writer.compactNullableString(transactionalId).int32(timeoutMs);
      if (version >= 3) writer.int64(current.producerId).int16(current.producerEpoch);
      writer.noTags();
    },
    read(reader) {
      reader.int32();
      return {
        code: reader.int16(),
        producerId: reader.bigint64(),
        producerEpoch: reader.int16(),
      };
    },
  });
}
