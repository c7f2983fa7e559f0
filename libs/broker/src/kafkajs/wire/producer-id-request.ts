import { ownRequest, type ApiRequest } from './api-request.js';

export interface ProducerIdAnswer {
  readonly code: number;
  /** -1 while the cluster has none to give: a broker that has just started answers so, without an error. */
  readonly producerId: bigint;
  readonly producerEpoch: number;
}

const NO_TRANSACTION = null;
/** Of a transaction, which there is none of. */
const TIMEOUT_MS = 2 ** 31 - 1;

/**
 * A producer id for sends outside of transactions, from any broker. Version 3 could name the
 * present id and epoch; without a transactional id a broker gives a new id all the same, so a
 * producer raises its epoch by itself (as Java's does).
 */
export function producerIdRequest(): ApiRequest<ProducerIdAnswer> {
  return ownRequest({
    apiKey: 22,
    apiName: 'InitProducerId',
    versions: [2, 3, 4],
    flexibleFrom: 2,
    write(writer, version) {
      writer.compactNullableString(NO_TRANSACTION).int32(TIMEOUT_MS);
      if (version >= 3) writer.int64(-1).int16(-1);
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
