import type { OutgoingRecord } from '@nest-event-bus/broker';
import { archiveHeaders, HEADER_PROFILES } from '../../failures/headers/header-profiles.js';
import { headersOf } from '../../failures/headers/header-profile.js';
import { EVENTBUS_HEADERS } from '../../model/records/event-bus-headers.js';
import type { DltRecord } from '../../model/records/dlt-record.js';
import { replayDigestOf } from '../../model/records/replay-digest.js';
import type { ReadLetter } from '../letters/read-letters.js';

/** Where a letter is replayed to, and for whom. */
export interface ReplayDestination {
  readonly binding: string;
  readonly groupId: string;
  readonly topic: string;
  /** The retry tier of that topic; undefined for the main topic. */
  readonly tier: number | undefined;
  /** The number of partitions of the topic. */
  readonly partitions: number;
}

const HEADER_VERSION = 1;
/** The only names that a replay writes are those of this profile. */
const REPLAY_PROFILES = [HEADER_PROFILES.eventbus];
const LONGEST_ARCHIVED = 200;

/** Identifies the replay of one letter. The same letter has the same id in the same operation. */
export function replayIdOf(operation: string, { record }: ReadLetter): string {
  return `${operation}/${record.partition}/${record.offset}`;
}

/**
 * Creates the record that is written again: key, value and own headers byte for byte, and headers
 * that make it begin a new life. Headers of the failure are left out, because they would send it to
 * the dead-letter topic at once. A summary of them is archived under other names.
 */
export function replayedRecord(
  letter: ReadLetter,
  destination: ReplayDestination,
  { replayId, at }: { readonly replayId: string; readonly at: number },
): OutgoingRecord {
  const { dlt, record } = letter;
  return {
    topic: destination.topic,
    key: record.key,
    value: record.value,
    timestamp: at,
    headers: [
      ...archiveHeaders(dlt.headers, REPLAY_PROFILES),
      ...headersOf({
        [EVENTBUS_HEADERS.version]: HEADER_VERSION,
        [EVENTBUS_HEADERS.headerProfiles]: REPLAY_PROFILES.map(({ name }) => name).join(','),
        [EVENTBUS_HEADERS.bindingName]: destination.binding,
        [EVENTBUS_HEADERS.groupId]: destination.groupId,
        ...originOf(dlt),
        [EVENTBUS_HEADERS.replayCount]: dlt.replayCount + 1,
        [EVENTBUS_HEADERS.replayId]: replayId,
        [EVENTBUS_HEADERS.replayDigest]: replayDigestOf(record),
        ...archiveOf(dlt),
        ...(destination.tier !== undefined && routedTo(destination.tier, at)),
      }),
    ],
    ...partitionOf(dlt, destination),
  };
}

/** A position of which a part is unknown is left out, because it would name another record. */
function originOf(dlt: DltRecord) {
  const names = EVENTBUS_HEADERS;
  if (dlt.originalPartition < 0 || dlt.originalOffset < 0n)
    return { [names.originalTopic]: dlt.originalTopic };
  return {
    [names.originalTopic]: dlt.originalTopic,
    [names.originalPartition]: dlt.originalPartition,
    [names.originalOffset]: dlt.originalOffset,
    [names.originalTimestamp]: dlt.originalTimestamp,
    [names.originalTimestampType]: dlt.originalTimestampType,
  };
}

function archiveOf(dlt: DltRecord) {
  const names = EVENTBUS_HEADERS;
  return {
    [names.previousException]: dlt.lastExceptionClass.slice(0, LONGEST_ARCHIVED),
    [names.previousAttempts]: dlt.totalAttempts,
    [names.previousDltTimestamp]: dlt.dltTimestamp,
  };
}

/** The headers of a record that was just routed to the tier, with no attempts so far. */
function routedTo(tier: number, at: number) {
  const names = EVENTBUS_HEADERS;
  return { [names.retryTier]: tier, [names.retryAttempt]: 1, [names.retryTimestamp]: at };
}

/**
 * Returns the original partition if it still exists, so that the order of a key is kept whatever
 * partitioner its producer used. A tier has no such order, so its key decides.
 */
function partitionOf(
  { originalTopic, originalPartition }: DltRecord,
  { topic, partitions }: ReplayDestination,
): { readonly partition?: number } {
  const isKnown = originalTopic === topic && originalPartition >= 0;
  return isKnown && originalPartition < partitions ? { partition: originalPartition } : {};
}
