import { ProducerFencedError } from '../../../port/errors.js';
import { isRefusal } from '../../broker/faults/refusal.js';

/**
 * Returns an error if the broker knows a newer producer with the id; undefined for all other
 * errors.
 */
export function asProducerFencedError(
  error: unknown,
  transactionalId: string,
): ProducerFencedError | undefined {
  if (!isRefusal(error, 'PRODUCER_FENCED', 'INVALID_PRODUCER_EPOCH')) return undefined;
  const { brokerCode } = error;
  return new ProducerFencedError(transactionalId, undefined, { cause: error, brokerCode });
}
