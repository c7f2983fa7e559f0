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

/**
 * Largest plausible difference between two clocks. A time farther in the future is a wrong header.
 */
const MOST_PLAUSIBLE_AHEAD_MS = 86_400_000;

/** Decides when the records of a retry topic are due. */
export class DueTimes {
  #hasWarned = false;
  /**
   * The latest record per partition that has no plausible time, and the time at which it was first
   * seen.
   */
  readonly #firstSeen = new Map<number, { readonly offset: number; readonly at: number }>();

  constructor(private readonly parts: DueTimesParts) {}

  /**
   * Returns when the delay of the record is over. The delay counts from the time of the writer.
   * Wrong headers never block the partition for ever.
   */
  dueAt(record: BrokerRecord): number {
    const delivery = headerCount(record.headers, EVENTBUS_HEADERS.retryAttempt) || 1;
    return this.#writeTimeOf(record) + delayMsOf(this.parts.tier, delivery);
  }

  /**
   * Returns when the record was written. Without the header it is the record's timestamp. If that
   * is not plausible, it is the time at which the record was first seen.
   */
  #writeTimeOf(record: BrokerRecord): number {
    const now = this.parts.runtime.now();
    const headerTime = headerCount(record.headers, EVENTBUS_HEADERS.retryTimestamp);
    const writtenAt = [headerTime, record.timestamp].find(
      (time) => time !== undefined && time - now < MOST_PLAUSIBLE_AHEAD_MS,
    );
    this.#warnOfClockSkew(record, (headerTime ?? record.timestamp) - now);
    return writtenAt ?? this.#firstSeenAt(record, now);
  }

  #firstSeenAt({ partition, offset }: BrokerRecord, now: number): number {
    const known = this.#firstSeen.get(partition);
    if (known?.offset === offset) return known.at;
    this.#firstSeen.set(partition, { offset, at: now });
    return now;
  }

  #warnOfClockSkew({ topic, partition, offset }: BrokerRecord, aheadMs: number): void {
    if (aheadMs < CLOCK_SKEW_TO_REPORT_MS || this.#hasWarned) return;
    this.#hasWarned = true;
    this.parts.logger.warn(
      'A record in a retry topic was written in the future: the clocks of two machines differ, and it waits that much longer, but no more than a day',
      { topic, partition, offset, aheadMs },
    );
  }
}
