import type { BrokerRecord, RecordHeader } from '@nest-event-bus/broker';
import type { FailureReport } from '../../model/outcomes/failure-report.js';

/** Returns headers for pairs like `[['trace', 'a'], ['trace', 'b']]`. */
export const headers = (
  values: readonly (readonly [string, string | Buffer | null])[],
): RecordHeader[] =>
  values.map(([key, value]) => ({
    key,
    value: typeof value === 'string' ? Buffer.from(value) : value,
  }));

/** Returns the headers as text. Several values of one name become a list. */
export function shown(list: readonly RecordHeader[]): Record<string, string | string[]> {
  const all: Record<string, string | string[]> = {};
  for (const { key, value } of list) {
    const text = value === null ? 'null' : value.toString('utf8');
    const before = all[key];
    all[key] = before === undefined ? text : [before, text].flat();
  }
  return all;
}

export const recordOf = (given: Partial<BrokerRecord> = {}): BrokerRecord => ({
  topic: 'orders.events',
  partition: 3,
  offset: 17,
  timestamp: 1_700_000_000_000,
  leaderEpoch: 0,
  sizeInBytes: 15,
  key: Buffer.from('customer-7'),
  value: Buffer.from([0, 255, 1, 254]),
  headers: headers([['trace', 'a']]),
  ...given,
});

/** Returns the report of a record that failed three times on the main topic. */
export const aFailureReport = (given: Partial<FailureReport> = {}): FailureReport => ({
  binding: 'orders',
  groupId: 'shop',
  record: recordOf(),
  originalTopic: 'orders.events',
  originalPartition: 3,
  originalOffset: 17n,
  originalTimestamp: 1_700_000_000_000,
  tier: 0,
  delivery: 1,
  calls: 3,
  totalAttempts: 3,
  firstFailureAt: 1_700_000_001_000,
  failedAt: 1_700_000_002_000,
  description: {
    className: 'OutOfStock',
    causeClassName: 'SqlError',
    message: 'no stock',
    stack: 'OutOfStock: no stock\n    at handle',
  },
  tierHistory: [
    { tier: 0, exceptionClass: 'OutOfStock', exhaustedAt: 1_700_000_002_000, attempts: 3 },
  ],
  fingerprint: '0123456789abcdef',
  ownFingerprint: '0123456789abcdef',
  isPoison: false,
  replayCount: 0,
  ...given,
});
