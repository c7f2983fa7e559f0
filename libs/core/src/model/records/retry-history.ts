import type { BrokerRecord } from '@nest-event-bus/broker';
import { EVENTBUS_HEADERS } from './event-bus-headers.js';
import { headerCount } from './header-number.js';
import { headerText } from './header-text.js';
import { EVENTBUS_POSITION, headerPosition, type OriginalPosition } from './original-position.js';
import type { TierFailureRecord } from './tier-history.js';
import { readTierHistory } from './tier-history.js';

/** What a record says of its past, before it is handled once more. */
export interface RetryHistory {
  readonly original: OriginalPosition;
  /** Milliseconds since 1970, as are the others. */
  readonly originalTimestamp: number;
  /** Where it is now: 0 is the main topic. */
  readonly tier: number;
  /** The delivery within the tier, from 1. */
  readonly delivery: number;
  /** Calls of the handler in all earlier deliveries, and those of them in this tier. */
  readonly totalAttempts: number;
  readonly attemptsInTier: number;
  /** undefined where it never failed. */
  readonly firstFailureAt: number | undefined;
  /** Of the tiers that it left. */
  readonly tierHistory: readonly TierFailureRecord[];
  /** Of the error with which it failed; `varied` where there were several. undefined where none is known. */
  readonly fingerprint: string | undefined;
  readonly replayCount: number;
}

/**
 * Reads the trail of a record that came in through a tier. On the main topic a record begins anew:
 * what an earlier life left in its headers counts no more, but where it came from and how often it
 * was replayed do.
 */
export function readRetryHistory(record: BrokerRecord, tier: number): RetryHistory {
  const origin = originOf(record, tier);
  return tier === 0 ? { ...origin, ...NO_FAILURES } : { ...origin, ...pastOf(record, tier) };
}

/**
 * Whether a record on the main topic is an earlier one of it again. Whoever builds a new event out
 * of one that was retried often copies its headers along: nothing but a replay is the same record.
 */
export function isReplay(record: BrokerRecord): boolean {
  const said = headerText(record.headers, EVENTBUS_HEADERS.originalTopic);
  return said === record.topic && replaysOf(record) > 0;
}

type Origin = Pick<RetryHistory, 'original' | 'originalTimestamp' | 'replayCount'>;
type EarlierFailures = Omit<RetryHistory, keyof Origin>;

const NO_FAILURES: EarlierFailures = Object.freeze({
  tier: 0,
  delivery: 1,
  totalAttempts: 0,
  attemptsInTier: 0,
  firstFailureAt: undefined,
  tierHistory: Object.freeze([]),
  fingerprint: undefined,
});

function originOf(record: BrokerRecord, tier: number): Origin {
  const { topic, partition, offset, timestamp, headers } = record;
  const own: Origin = {
    original: { topic, partition, offset: BigInt(offset) },
    originalTimestamp: timestamp,
    replayCount: 0,
  };
  const saysOrigin = headerText(headers, EVENTBUS_HEADERS.originalTopic) !== undefined;
  if (tier === 0 && saysOrigin && !isReplay(record)) return own;
  const original = headerPosition(headers, EVENTBUS_POSITION);
  const saidTimestamp = headerCount(headers, EVENTBUS_HEADERS.originalTimestamp);
  return {
    original: original ?? own.original,
    originalTimestamp: (original && saidTimestamp) ?? timestamp,
    replayCount: replaysOf(record),
  };
}

function replaysOf({ headers }: BrokerRecord): number {
  return headerCount(headers, EVENTBUS_HEADERS.replayCount) ?? 0;
}

function pastOf({ headers, timestamp }: BrokerRecord, tier: number): EarlierFailures {
  const count = (name: string): number | undefined => headerCount(headers, name);
  const writtenAt = count(EVENTBUS_HEADERS.retryTimestamp) ?? timestamp;
  const history = readTierHistory(headers, writtenAt);
  // The deliveries of another tier are none of this one: the tiers were configured anew meanwhile.
  const isOfThisTier = count(EVENTBUS_HEADERS.retryTier) === tier;
  return {
    tier,
    delivery: (isOfThisTier && count(EVENTBUS_HEADERS.retryAttempt)) || 1,
    totalAttempts:
      count(EVENTBUS_HEADERS.totalAttempts) ??
      history.reduce((sum, { attempts }) => sum + attempts, 0),
    attemptsInTier: history.find((each) => each.tier === tier)?.attempts ?? 0,
    firstFailureAt: count(EVENTBUS_HEADERS.firstFailureTimestamp),
    tierHistory: history.filter((each) => each.tier !== tier),
    fingerprint: headerText(headers, EVENTBUS_HEADERS.fingerprint) || undefined,
  };
}
