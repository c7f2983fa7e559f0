import type { BrokerRecord, DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { ResolvedTier } from '../../config/resolving/resolved-binding.js';
import { delayMsOf } from '../../config/resolving/tier-delay.js';
import { EVENTBUS_HEADERS } from '../../model/records/event-bus-headers.js';
import { headerCount } from '../../model/records/header-number.js';
import { headerText } from '../../model/records/header-text.js';

export interface RetryTopicFilterParts {
  readonly tier: ResolvedTier;
  /** The group of the binding, not that of the tier. */
  readonly groupId: string;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

/** A larger difference between the clocks of two machines is logged. */
const CLOCK_SKEW_TO_REPORT_MS = 60_000;

/** A time even farther ahead is a wrong header, not a wrong clock. */
const MOST_PLAUSIBLE_AHEAD_MS = 86_400_000;

/** Decides which records of a retry topic belong to this binding, and when their delay is over. */
export class RetryTopicFilter {
  #hasWarned = false;
  /** The latest record per partition without a plausible time of its write, and when it was seen first. */
  readonly #firstSeen = new Map<number, { readonly offset: number; readonly at: number }>();

  constructor(private readonly parts: RetryTopicFilterParts) {}

  /** Groups that read one topic share its retry topics. Each handles only the records that it failed itself. */
  isForeign({ headers }: BrokerRecord): boolean {
    const groupId = headerText(headers, EVENTBUS_HEADERS.groupId);
    return groupId !== undefined && groupId !== this.parts.groupId;
  }

  /** Counts the delay by the clock of the writer. Wrong headers never block the partition for ever. */
  dueAt(record: BrokerRecord): number {
    if (this.isForeign(record)) return 0;
    const delivery = headerCount(record.headers, EVENTBUS_HEADERS.retryAttempt) || 1;
    return this.#writeTimeOf(record) + delayMsOf(this.parts.tier, delivery);
  }

  /** A record without our header has waited since its timestamp; if that is not plausible, since it was first seen. */
  #writeTimeOf(record: BrokerRecord): number {
    const now = this.parts.runtime.now();
    const saidAt = headerCount(record.headers, EVENTBUS_HEADERS.retryTimestamp);
    const writtenAt = [saidAt, record.timestamp].find(
      (time) => time !== undefined && time - now < MOST_PLAUSIBLE_AHEAD_MS,
    );
    this.#warnOfClockSkew(record, (saidAt ?? record.timestamp) - now);
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
