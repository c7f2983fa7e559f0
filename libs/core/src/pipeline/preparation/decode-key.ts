import type { Deserializer } from '../../model/extension-points/deserializer.js';
import { isPromiseLike } from '../and-then.js';
import type { PreparationStep, Prepared } from '../pipeline-step.js';
import type { RecordCall } from '../record-call.js';
import { unreadablePart } from './unreadable-part.js';

/** Returns a step that decodes the key. The key of a record without one is null. */
export function decodeKey(binding: string, deserializer: Deserializer): PreparationStep {
  const unreadable = unreadablePart('key', binding, deserializer.name);
  const decodeLater = async (call: RecordCall, key: PromiseLike<unknown>): Promise<Prepared> => {
    try {
      call.decodedKey = { key: await key };
      return undefined;
    } catch (cause) {
      return unreadable(call.received, cause);
    }
  };
  return (call) => {
    const { received } = call;
    if (received.key === null) return undefined;
    let key: unknown;
    try {
      key = deserializer.deserialize(received.key, received);
    } catch (cause) {
      return unreadable(received, cause);
    }
    if (isPromiseLike(key)) return decodeLater(call, key);
    call.decodedKey = { key };
    return undefined;
  };
}
