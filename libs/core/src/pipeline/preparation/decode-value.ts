import type { BrokerRecord } from '@nest-event-bus/broker';
import { EventBusException } from '../../errors/event-bus-exception.js';
import { DeserializationException } from '../../errors/handler-errors.js';
import type { Deserializer } from '../../model/extension-points/deserializer.js';
import { isPromiseLike } from '../and-then.js';
import { UnreadableValueError } from '../decoding/unreadable-value-error.js';
import type { PreparationStep, Prepared } from '../pipeline-step.js';
import type { RecordCall } from '../record-call.js';
import { toError } from '../to-error.js';

/** Returns a step that decodes the value. The step is asynchronous only if the deserializer is. */
export function decodeValue(binding: string, deserializer: Deserializer): PreparationStep {
  const decodeLater = async (call: RecordCall, value: PromiseLike<unknown>): Promise<Prepared> => {
    try {
      call.value = await value;
      return undefined;
    } catch (cause) {
      return unreadable(call.received, cause);
    }
  };
  /**
   * Throws for a value that cannot be decoded. If the error says that another attempt can help,
   * returns a failure that redelivers the record.
   */
  const unreadable = (record: BrokerRecord, thrown: unknown): Prepared => {
    const cause = toError(thrown);
    if (cause instanceof EventBusException && cause.retriable)
      return { kind: 'failed', reason: 'redeliver', error: cause, attempts: 0 };
    throw deserializationException(record, { binding, format: deserializer.name, cause });
  };
  return (call) => {
    const record = call.received;
    // A tombstone is a valid message without a value, so nothing is decoded.
    if (record.value === null) {
      call.value = null;
      return undefined;
    }
    let value: unknown;
    try {
      value = deserializer.deserialize(record.value, record);
    } catch (cause) {
      return unreadable(record, cause);
    }
    if (isPromiseLike(value)) return decodeLater(call, value);
    call.value = value;
    return undefined;
  };
}

function deserializationException(
  { topic, partition, offset, value }: BrokerRecord,
  { binding, format, cause }: { binding: string; format: string; cause: Error },
): DeserializationException {
  const reason = cause instanceof UnreadableValueError ? cause.message : undefined;
  const why = reason === undefined ? '' : `: ${reason}`;
  return new DeserializationException(
    `The value of ${topic}-${partition}-${offset} (${value?.length} bytes) is not the ${format} that binding '${binding}' expects${why}. Look at what its producer writes, or give the binding another deserializer.`,
    { cause, format, reason },
  );
}
