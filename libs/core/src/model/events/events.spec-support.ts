import type { RecordFailed } from './event-bus-events.js';
import { RecordPosition } from './record-position.js';

interface GivenFailure extends Partial<Omit<RecordFailed, 'name' | 'record' | 'exception'>> {
  readonly topic?: string;
  readonly offset?: number;
  readonly tier?: number;
  readonly className?: string;
  readonly message?: string;
  readonly stack?: string;
}

/** An event about a failed record of binding `orders`. */
export function aFailedRecord(given: GivenFailure = {}): RecordFailed {
  const { topic = 'orders', offset = 17, tier = 0, className = 'TypeError', ...more } = given;
  const { message, stack, ...rest } = more;
  const record = new RecordPosition(topic, 0, offset);
  return {
    name: 'record.failed',
    at: 0,
    binding: 'orders',
    cluster: 'default',
    groupId: 'shop',
    record,
    origin: record,
    attempt: { call: 1, delivery: 1, tier, total: 1 },
    exception: { className, message, stack, fingerprint: `${className} ${message ?? ''}` },
    next: { kind: 'redeliver', inMs: 1_000 },
    isFinal: false,
    ...rest,
  };
}
