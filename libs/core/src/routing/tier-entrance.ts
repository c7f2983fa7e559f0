import type { BrokerRecord, DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { ResolvedTier } from '../config/resolved-binding.js';
import { EVENTBUS_HEADERS } from '../model/event-bus-headers.js';
import { headerText } from '../model/header-text.js';

export interface TierEntranceParts {
  readonly tier: ResolvedTier;
  /** Of the binding, not of the tier. */
  readonly groupId: string;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

/** Clocks of two machines differ a little; by more than this somebody should know. */
const SKEW_MS = 60_000;

/** Says which records of a retry topic are this binding's, and when their delay is over. */
export class TierEntrance {
  #hasWarned = false;

  constructor(private readonly parts: TierEntranceParts) {}

  /** Groups that read one topic share its retry topics: each handles what it failed itself. */
  isForeign({ headers }: BrokerRecord): boolean {
    const groupId = headerText(headers, EVENTBUS_HEADERS.groupId);
    return groupId !== undefined && groupId !== this.parts.groupId;
  }

  /** By the clock of who wrote it. A record that nobody here wrote has waited since its own time. */
  dueAt(record: BrokerRecord): number {
    if (this.isForeign(record)) return 0;
    const writtenAt = numberOf(record, EVENTBUS_HEADERS.retryTimestamp) ?? record.timestamp;
    this.#tellSkew(record, writtenAt);
    return writtenAt + this.#delayOf(numberOf(record, EVENTBUS_HEADERS.retryAttempt) ?? 1);
  }

  #delayOf(delivery: number): number {
    const { delayMs, multiplier, maxDelayMs } = this.parts.tier;
    return Math.min(delayMs * multiplier ** (delivery - 1), Math.max(delayMs, maxDelayMs));
  }

  #tellSkew({ topic, partition, offset }: BrokerRecord, writtenAt: number): void {
    const aheadMs = writtenAt - this.parts.runtime.now();
    if (aheadMs < SKEW_MS || this.#hasWarned) return;
    this.#hasWarned = true;
    this.parts.logger.warn(
      'A record in a retry topic was written in the future: the clocks of two machines differ, and it waits that much longer',
      { topic, partition, offset, aheadMs },
    );
  }
}

function numberOf({ headers }: BrokerRecord, name: string): number | undefined {
  const text = headerText(headers, name);
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
