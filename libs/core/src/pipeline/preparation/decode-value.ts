import type { Deserializer } from '../../model/extension-points/deserializer.js';
import { isPromiseLike } from '../and-then.js';
import type { PreparationStep, Prepared } from '../pipeline-step.js';
import type { RecordCall } from '../record-call.js';
import { unreadablePart } from './unreadable-part.js';

/** Returns a step that decodes the value. The step is asynchronous only if the deserializer is. */
export function decodeValue(binding: string, deserializer: Deserializer): PreparationStep {
  const unreadable = unreadablePart('value', binding, deserializer.name);
  const decodeLater = async (call: RecordCall, value: PromiseLike<unknown>): Promise<Prepared> => {
    try {
      call.value = await value;
      return undefined;
    } catch (cause) {
      return unreadable(call.received, cause);
    }
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
