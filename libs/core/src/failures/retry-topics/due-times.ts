import type { BrokerRecord, DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { ResolvedTier } from '../../config/resolving/resolved-binding.js';
import { delayMsOf } from '../../config/resolving/tier-delay.js';
import { EVENTBUS_HEADERS } from '../../model/records/event-bus-headers.js';
import { headerCount } from '../../model/records/header-number.js';

export interface DueTimesParts {
  readonly tier: ResolvedTier;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

/** Difference between the clocks of two machines above which a warning is logged. */
const CLOCK_SKEW_TO_REPORT_MS = 60_000;

/** Decides when the records of a retry topic are due. */
export class DueTimes {
  #hasWarned = false;
  /**
   * The latest record per partition whose time is in the future, and when it was first read. After a
   * pause the record is read again, and its delay must not begin anew.
   */
  readonly #firstRead = new Map<number, { readonly offset: number; readonly at: number }>();

  constructor(private readonly parts: DueTimesParts) {}

  /**
   * Returns when the delay of the record is over. The delay counts from the time of the writer, and
   * at the latest from `readAt`: a header or a fast clock never makes a record wait for longer than
   * the longest delay of the tier.
   */
  dueAt(record: BrokerRecord, readAt: number): number {
    const { tier } = this.parts;
    const said = headerCount(record.headers, EVENTBUS_HEADERS.retryAttempt) || 1;
    const delivery = Math.min(said, tier.maxAttempts);
    return this.#writeTimeOf(record, readAt) + delayMsOf(tier, delivery);
  }

  /**
   * Returns when the record was written. Without the header it is the record's timestamp. A time
   * after `readAt` is wrong.
   */
  #writeTimeOf(record: BrokerRecord, readAt: number): number {
    const headerTime = headerCount(record.headers, EVENTBUS_HEADERS.retryTimestamp);
    this.#warnOfClockSkew(record, (headerTime ?? record.timestamp) - this.parts.runtime.now());
    if (headerTime !== undefined && headerTime <= readAt) return headerTime;
    return record.timestamp <= readAt ? record.timestamp : this.#firstReadAt(record, readAt);
  }

  #firstReadAt({ partition, offset }: BrokerRecord, readAt: number): number {
    const known = this.#firstRead.get(partition);
    if (known?.offset === offset && known.at <= readAt) return known.at;
    this.#firstRead.set(partition, { offset, at: readAt });
    return readAt;
  }

  #warnOfClockSkew({ topic, partition, offset }: BrokerRecord, aheadMs: number): void {
    if (aheadMs < CLOCK_SKEW_TO_REPORT_MS || this.#hasWarned) return;
    this.#hasWarned = true;
    this.parts.logger.warn(
      'A record in a retry topic was written in the future: the clocks of two machines differ. Its delay counts from when it was read. Look at the clock of the machine that wrote it.',
      { topic, partition, offset, aheadMs },
    );
  }
}
