import { ownRequest, type ApiRequest } from './api-request.js';

export interface ProducerIdAnswer {
  readonly code: number;
  /** -1 while the cluster has none to give: a broker that has just started answers so, without an error. */
  readonly producerId: bigint;
  readonly producerEpoch: number;
}

interface PresentIdentity {
  readonly producerId: bigint;
  readonly producerEpoch: number;
}

const NOBODY: PresentIdentity = { producerId: -1n, producerEpoch: -1 };

/** Of a transaction, which there is none of. */
const TIMEOUT_MS = 2 ** 31 - 1;

/**
 * A producer id for sends outside of transactions, from any broker. Version 3 could name the
 * present id and epoch; without a transactional id a broker gives a new id all the same, so a
 * producer raises its epoch by itself (as Java's does).
 */
export function producerIdRequest(): ApiRequest<ProducerIdAnswer> {
  return requestOf([2, 3, 4], null, TIMEOUT_MS, NOBODY);
}

/**
 * Makes the producer the only one of its transactional id, in a new epoch; asked of the id's
 * coordinator. With `current` it is refused once another producer has the id, instead of taking
 * it back from that one.
 */
export function transactionalProducerIdRequest(
  transactionalId: string,
  timeoutMs: number,
  current: PresentIdentity = NOBODY,
): ApiRequest<ProducerIdAnswer> {
  return requestOf([3, 4], transactionalId, timeoutMs, current);
}

function requestOf(
  versions: readonly number[],
  transactionalId: string | null,
  timeoutMs: number,
  current: PresentIdentity,
): ApiRequest<ProducerIdAnswer> {
  return ownRequest({
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
