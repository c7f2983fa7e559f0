import type { OutgoingRecord } from '@nest-event-bus/broker';
import fc from 'fast-check';
import { EVENTBUS_HEADERS, tierHeaders } from '../../model/records/event-bus-headers.js';

const YEAR_9999 = 253_370_764_800_000;

const text = (numbers: fc.Arbitrary<number | bigint>) => numbers.map((number) => `${number}`);

/** Values of control headers: wrong clocks, giant and negative numbers, and bytes. */
const hostileValues = (now: number) =>
  fc.oneof(
    text(fc.integer({ min: now - 86_400_000, max: now + 2 * 86_400_000 })),
    text(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n })),
    fc.constantFrom('99', '-1', '0', '', 'soon', String(YEAR_9999), null),
    fc.uint8Array({ maxLength: 9 }).map((bytes) => Buffer.from(bytes)),
  );

/**
 * Records that anybody may have written to a retry topic, with any control headers and any time.
 * Half of them fail.
 */
export function hostileRetryRecords(now: number) {
  const key = fc.constantFrom(...Object.values(EVENTBUS_HEADERS), ...Object.values(tierHeaders(1)));
  const header = fc.record({ key, value: hostileValues(now) });
  return fc.record({
    value: fc.constantFrom('bad', 'other'),
    headers: fc.array(header, { maxLength: 12 }),
    timestamp: fc.oneof(
      fc.constant(now),
      fc.integer({ min: now, max: now + 2 * 86_400_000 }),
      fc.constant(YEAR_9999),
    ),
  }) satisfies fc.Arbitrary<Omit<OutgoingRecord, 'topic'>>;
}
