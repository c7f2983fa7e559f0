import type { Delivery } from '../../model/outcomes/delivery.js';
import type { DeliveryAttempt } from '../../model/records/event-context.js';
import { readRetryHistory } from '../../model/records/retry-history.js';

/**
 * Returns the numbers of a handler call. A record that was handed back does not count. In a retry
 * topic each write to the tier is a delivery, and the headers of the record have the earlier ones.
 */
export function deliveryAttempt(
  { record, history: { failures, calls } }: Delivery,
  tier: number,
  call: number,
): DeliveryAttempt {
  if (tier === 0) return { call, delivery: failures + 1, tier, total: calls + call };
  const { delivery, totalAttempts } = readRetryHistory(record, tier);
  return { call, delivery, tier, total: totalAttempts + calls + call };
}
