import type { BrokerRecord, RecordHeader } from '@nest-event-bus/broker';
import type { HeaderProfileName } from '../../config/properties/dlt-properties.js';
import type { FailureReport } from '../../model/outcomes/failure-report.js';
import {
  archivedHeader,
  isArchivedHeader,
  restoredHeader,
} from '../../model/records/archived-headers.js';
import { EVENTBUS_HEADERS } from '../../model/records/event-bus-headers.js';
import { headerText } from '../../model/records/header-text.js';
import { isReplay } from '../../model/records/retry-history.js';
import { eventbusProfile, isEventBusHeader } from './x-eventbus-headers.js';
import type { HeaderProfile } from './header-profile.js';
import { PLAIN_HEADERS, plainProfile } from './plain-profile.js';
import { springProfile } from './spring-profile.js';

export const HEADER_PROFILES: Readonly<Record<HeaderProfileName, HeaderProfile>> = Object.freeze({
  eventbus: eventbusProfile,
  spring: springProfile,
  plain: plainProfile,
});

/**
 * Returns the headers that the record of a failure had before its first failure, byte for byte and
 * in their order. On the main topic these are all its headers, because a record there was written
 * by its producer, which may be another bus. A replayed record is the exception.
 */
export function originalHeadersOf(
  { record, tier }: Pick<FailureReport, 'record' | 'tier'>,
  configured: readonly HeaderProfile[],
): readonly RecordHeader[] {
  const { headers } = record;
  const isOriginal = tier === 0 && !isMarkedReplay(record);
  return isOriginal ? headers : splitHeaders(headers, configured).original;
}

/** A producer that copies headers of a retried event does not make a replay of the new one. */
const isMarkedReplay = (record: BrokerRecord): boolean =>
  isReplay(record) && headerText(record.headers, EVENTBUS_HEADERS.headerProfiles) !== undefined;

/**
 * Returns all headers. A header whose name the bus or one of the profiles writes gets an archived
 * name. Each header stays in its place, so that restoring the names also restores the order.
 */
export function archiveHeaders(
  original: readonly RecordHeader[],
  profiles: readonly HeaderProfile[],
): readonly RecordHeader[] {
  const isOwned = isOwnedBy(profiles);
  return original.map((header) =>
    isArchivedHeader(header) || isOwned(header) ? archivedHeader(header) : header,
  );
}

/** The headers of a record that a bus has written. */
export interface SplitHeaders {
  /** The headers before the first failure, byte for byte and in their order. */
  readonly original: readonly RecordHeader[];
  /** The headers that may describe the failure. A header of the producer never does. */
  readonly written: readonly RecordHeader[];
}

/**
 * Splits the headers of a record that a bus has written. An older version did not write its
 * profiles: then those in `assumed` count that it may have used.
 */
export function splitHeaders(
  headers: readonly RecordHeader[],
  assumed: readonly HeaderProfile[],
): SplitHeaders {
  const stated = statedOwner(headers);
  const isOwned = stated ?? isOwnedBy(writtenProfiles(headers, assumed));
  const original: RecordHeader[] = [];
  const written: RecordHeader[] = [];
  for (const header of headers) {
    if (isArchivedHeader(header)) original.push(restoredHeader(header));
    else (isOwned(header) ? written : original).push(header);
  }
  return { original, written: stated ? written : headers };
}

type IsOwned = (header: RecordHeader) => boolean;

function isOwnedBy(profiles: readonly HeaderProfile[]): IsOwned {
  return ({ key }) => isEventBusHeader(key) || profiles.some((profile) => profile.owns(key));
}

/** Any producer may write this header, so only short values are kept. */
const LONGEST_KEPT = 30;
const MOST_KEPT = 16;
const OWNERS = new Map<string, IsOwned>();

function statedOwner(headers: readonly RecordHeader[]): IsOwned | undefined {
  const stated = headerText(headers, EVENTBUS_HEADERS.headerProfiles);
  if (stated === undefined) return undefined;
  const known = OWNERS.get(stated);
  if (known) return known;
  const names = stated.split(',');
  const owner = isOwnedBy(
    Object.values(HEADER_PROFILES).filter(({ name }) => names.includes(name)),
  );
  if (stated.length <= LONGEST_KEPT && OWNERS.size < MOST_KEPT) OWNERS.set(stated, owner);
  return owner;
}

/**
 * Returns the profiles that an earlier write may have used. Producers use the plain names as well,
 * so these count only if all of them are present, as the plain profile writes them.
 */
function writtenProfiles(
  headers: readonly RecordHeader[],
  profiles: readonly HeaderProfile[],
): readonly HeaderProfile[] {
  const present = new Set(headers.map(({ key }) => key));
  const isPlain = Object.values(PLAIN_HEADERS).every((name) => present.has(name));
  return isPlain ? profiles : profiles.filter((profile) => profile !== plainProfile);
}
