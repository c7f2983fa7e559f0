import type { BrokerRecord, TimestampType } from '@nest-event-bus/broker';
import { EVENTBUS_HEADERS } from './event-bus-headers.js';
import { headerCount } from './header-number.js';
import { headerText } from './header-text.js';
import { headerTimestampType } from './header-timestamp-type.js';
import { replayDigestOf } from './replay-digest.js';
import { EVENTBUS_POSITION, headerPosition, type OriginalPosition } from './original-position.js';
import type { TierFailureRecord } from './tier-history.js';
import { MOST_ATTEMPTS, readTierHistory } from './tier-history.js';

/** The retry headers of a record, read before the record is handled again. */
export interface RetryHistory {
  readonly original: OriginalPosition;
  /** Milliseconds since 1970, as are the other times. */
  readonly originalTimestamp: number;
  /** Whose clock that time has; undefined if that is not known. */
  readonly originalTimestampType: TimestampType | undefined;
  /** The tier of the topic in which the record is now; 0 for the main topic. */
  readonly tier: number;
  /** The delivery within the tier, from 1. */
  readonly delivery: number;
  /** Handler calls in all earlier deliveries; `attemptsInTier` counts those in this tier. */
  readonly totalAttempts: number;
  readonly attemptsInTier: number;
  /** Time of the first failure; undefined if the record never failed. */
  readonly firstFailureAt: number | undefined;
  /** Failures in the tiers that the record has passed. */
  readonly tierHistory: readonly TierFailureRecord[];
  /**
   * Identifies the error of the earlier calls: `varied` if there were different errors, undefined
   * if no error is known.
   */
  readonly fingerprint: string | undefined;
  readonly replayCount: number;
  /** The replay that this record belongs to; undefined if it was never replayed. */
  readonly replayId?: string | undefined;
}

/**
 * Reads the history of a record from its headers. On the main topic a new history begins: the
 * retry headers are ignored, except the original position and the number of replays.
 */
export function readRetryHistory(record: BrokerRecord, tier: number): RetryHistory {
  const origin = originOf(record, tier);
  return tier === 0
    ? { ...origin, ...NO_FAILURES }
    : { ...origin, ...earlierFailuresOf(record, tier) };
}

/**
 * Returns whether a record on the main topic is a replay of an earlier one. Producers often copy
 * headers from a retried event to a new one, and a new event is not the same record.
 */
export function isReplay(record: BrokerRecord): boolean {
  const originalTopic = headerText(record.headers, EVENTBUS_HEADERS.originalTopic);
  return originalTopic === record.topic && replaysOf(record) > 0;
}

/** Returns whether key and value are those of the replay that the headers name. */
export function isUnchangedReplay(record: BrokerRecord): boolean {
  return headerText(record.headers, EVENTBUS_HEADERS.replayDigest) === replayDigestOf(record);
}

type Origin = Pick<
  RetryHistory,
  'original' | 'originalTimestamp' | 'originalTimestampType' | 'replayCount' | 'replayId'
>;
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
    originalTimestampType: record.timestampType,
    replayCount: 0,
    replayId: undefined,
  };
  const saysOrigin = headerText(headers, EVENTBUS_HEADERS.originalTopic) !== undefined;
  if (tier === 0 && saysOrigin && !isReplay(record)) return own;
  const original = headerPosition(headers, EVENTBUS_POSITION);
  const saidTimestamp = headerCount(headers, EVENTBUS_HEADERS.originalTimestamp);
  return {
    original: original ?? own.original,
    ...(original && saidTimestamp !== undefined
      ? {
          originalTimestamp: saidTimestamp,
          originalTimestampType: headerTimestampType(
            headers,
            EVENTBUS_HEADERS.originalTimestampType,
          ),
        }
      : { originalTimestamp: timestamp, originalTimestampType: record.timestampType }),
    replayCount: replaysOf(record),
    replayId: replayIdOf(record, tier),
  };
}

function replaysOf({ headers }: BrokerRecord): number {
  return attemptsIn(headers, EVENTBUS_HEADERS.replayCount) ?? 0;
}

/** A longer value is not from this library, and would be copied into every later record. */
const LONGEST_REPLAY_ID = 100;

function replayIdOf(record: BrokerRecord, tier: number): string | undefined {
  const id = headerText(record.headers, EVENTBUS_HEADERS.replayId);
  if (!id || id.length > LONGEST_REPLAY_ID) return undefined;
  // A new event on the main topic may have copied the headers of a replay.
  return tier > 0 || isUnchangedReplay(record) ? id : undefined;
}

function attemptsIn(headers: BrokerRecord['headers'], name: string): number | undefined {
  const count = headerCount(headers, name);
  return count === undefined ? undefined : Math.min(count, MOST_ATTEMPTS);
}

function earlierFailuresOf({ headers, timestamp }: BrokerRecord, tier: number): EarlierFailures {
  const count = (name: string): number | undefined => headerCount(headers, name);
  const writtenAt = count(EVENTBUS_HEADERS.retryTimestamp) ?? timestamp;
  const history = readTierHistory(headers, writtenAt);
  // The deliveries of another tier are ignored, because the tiers may have been configured
  // differently when they were counted.
  const isOfThisTier = count(EVENTBUS_HEADERS.retryTier) === tier;
  return {
    tier,
    delivery: (isOfThisTier && attemptsIn(headers, EVENTBUS_HEADERS.retryAttempt)) || 1,
    totalAttempts:
      attemptsIn(headers, EVENTBUS_HEADERS.totalAttempts) ??
      history.reduce((sum, { attempts }) => sum + attempts, 0),
    attemptsInTier: history.find((each) => each.tier === tier)?.attempts ?? 0,
    firstFailureAt: count(EVENTBUS_HEADERS.firstFailureTimestamp),
    tierHistory: history.filter((each) => each.tier !== tier),
    fingerprint: headerText(headers, EVENTBUS_HEADERS.fingerprint) || undefined,
  };
}
