import type { BrokerRecord } from '@nest-event-bus/broker';
import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import { EVENTBUS_HEADERS } from '../../model/records/event-bus-headers.js';
import { headerText } from '../../model/records/header-text.js';
import { replayDigestOf } from '../../model/records/replay-digest.js';
import { isReplay } from '../../model/records/retry-history.js';

/** Encoded once, because the name is looked for in every record. */
const REPLAY_ID = Buffer.from(EVENTBUS_HEADERS.replayId);

/** Returns the rule for the main topic of a binding. */
export function foreignReplays({ groupId }: Pick<ResolvedBinding, 'groupId'>): {
  isForeign(record: BrokerRecord): boolean;
} {
  return { isForeign: (record) => isForeignReplay(record, groupId) };
}

/**
 * Returns whether a record of the main topic was replayed for another group. Groups that read one
 * topic all get the record, and only the group whose handler had failed may handle it again. A new
 * event with copied headers is never foreign: its topic, key and value must be those of the replay.
 */
function isForeignReplay(record: BrokerRecord, groupId: string): boolean {
  if (!mayHaveHeader(record)) return false;
  const { headers } = record;
  const target = headerText(headers, EVENTBUS_HEADERS.groupId);
  return (
    target !== undefined &&
    target !== groupId &&
    isReplay(record) &&
    headerText(headers, EVENTBUS_HEADERS.replayDigest) === replayDigestOf(record)
  );
}

/** Avoids that the headers of every record are decoded. */
function mayHaveHeader(record: BrokerRecord): boolean {
  if (record.hasHeader) return record.hasHeader(REPLAY_ID);
  return record.headers.some(({ key }) => key === EVENTBUS_HEADERS.replayId);
}
