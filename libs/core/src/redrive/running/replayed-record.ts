import type { OutgoingHeader, OutgoingRecord, RecordHeader } from '@nest-event-bus/broker';
import type { LetterFacts } from '../../failures/headers/letter-facts.js';
import { archiveHeaders, HEADER_PROFILES } from '../../failures/headers/header-profiles.js';
import { EVENTBUS_HEADERS } from '../../model/records/event-bus-headers.js';
import { replayDigestOf } from '../../model/records/replay-digest.js';
import type { ReadLetter } from '../letters/read-letters.js';

/** Where a letter is replayed to, and for whom. */
export interface ReplayDestination {
  /** The binding and group that handle the record. Undefined for another topic: whoever reads it. */
  readonly reader: { readonly binding: string; readonly groupId: string } | undefined;
  readonly topic: string;
  /** The retry tier of that topic; undefined for the main topic. */
  readonly tier: number | undefined;
  /** The number of partitions of the topic. */
  readonly partitions: number;
}

/** What the replayed record contains. */
export interface ReplayedContent {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  /** The record's own headers. */
  readonly headers: readonly RecordHeader[];
  /** False if the key was changed, so that the key decides. */
  readonly keepsPartition: boolean;
  /** The dead letter of which an edited record was made. */
  readonly editedFrom: string | undefined;
}

const contentOf = ({ facts, record: { key, value } }: ReadLetter): ReplayedContent => ({
  ...{ key, value, headers: facts.headers, keepsPartition: true, editedFrom: undefined },
});

const NAMES = EVENTBUS_HEADERS;
const HEADER_VERSION = '1';
/** The only names that a replay writes are those of this profile. */
const REPLAY_PROFILES = [HEADER_PROFILES.eventbus];
const PROFILE_NAMES = REPLAY_PROFILES.map(({ name }) => name).join(',');
const LONGEST_ARCHIVED = 200;

/**
 * Creates the record that is written again: key, value and own headers byte for byte, and headers
 * that make it begin a new life. Headers of the failure are left out, because they would send it to
 * the dead-letter topic at once. A summary of them is archived under other names.
 */
export function replayedRecord(
  letter: ReadLetter,
  destination: ReplayDestination,
  { replayId, at }: { readonly replayId: string; readonly at: number },
  content: ReplayedContent = contentOf(letter),
): OutgoingRecord {
  const { facts } = letter;
  return {
    topic: destination.topic,
    key: content.key,
    value: content.value,
    timestamp: at,
    headers: [
      ...archiveHeaders(content.headers, REPLAY_PROFILES),
      { key: NAMES.version, value: HEADER_VERSION },
      { key: NAMES.headerProfiles, value: PROFILE_NAMES },
      ...readerOf(destination),
      ...originOf(facts),
      { key: NAMES.replayCount, value: String(facts.replayCount + 1) },
      { key: NAMES.replayId, value: replayId },
      { key: NAMES.replayDigest, value: replayDigestOf(content) },
      ...(content.editedFrom === undefined
        ? []
        : [{ key: NAMES.editedFrom, value: content.editedFrom }]),
      ...archiveOf(facts),
      ...(destination.tier === undefined ? [] : routedTo(destination.tier, at)),
    ],
    ...(content.keepsPartition && partitionOf(facts, destination)),
  };
}

function readerOf({ reader }: ReplayDestination): readonly OutgoingHeader[] {
  if (!reader) return [];
  return [
    { key: NAMES.bindingName, value: reader.binding },
    { key: NAMES.groupId, value: reader.groupId },
  ];
}

/** A position of which a part is unknown is left out, because it would name another record. */
function originOf(facts: LetterFacts): readonly OutgoingHeader[] {
  const { originalPartition, originalOffset, originalTimestampType: timestampType } = facts;
  const topic = { key: NAMES.originalTopic, value: facts.originalTopic };
  if (originalPartition < 0 || originalOffset < 0n) return [topic];
  return [
    topic,
    { key: NAMES.originalPartition, value: String(originalPartition) },
    { key: NAMES.originalOffset, value: String(originalOffset) },
    { key: NAMES.originalTimestamp, value: String(facts.originalTimestamp) },
    ...(timestampType ? [{ key: NAMES.originalTimestampType, value: timestampType }] : []),
  ];
}

function archiveOf(facts: LetterFacts): readonly OutgoingHeader[] {
  return [
    { key: NAMES.previousException, value: facts.lastExceptionClass.slice(0, LONGEST_ARCHIVED) },
    { key: NAMES.previousAttempts, value: String(facts.totalAttempts) },
    { key: NAMES.previousDltTimestamp, value: String(facts.dltTimestamp) },
  ];
}

/** The headers of a record that was just routed to the tier, with no attempts so far. */
function routedTo(tier: number, at: number): readonly OutgoingHeader[] {
  return [
    { key: NAMES.retryTier, value: String(tier) },
    { key: NAMES.retryAttempt, value: '1' },
    { key: NAMES.retryTimestamp, value: String(at) },
  ];
}

/**
 * Returns the original partition if it still exists, so that the order of a key is kept whatever
 * partitioner its producer used. A tier has no such order, so its key decides.
 */
function partitionOf(
  { originalTopic, originalPartition }: LetterFacts,
  { topic, partitions }: ReplayDestination,
): { readonly partition?: number } {
  const isKnown = originalTopic === topic && originalPartition >= 0;
  return isKnown && originalPartition < partitions ? { partition: originalPartition } : {};
}
