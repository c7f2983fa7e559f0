import type { BrokerRecord } from '@nest-event-bus/broker';
import { EVENTBUS_HEADERS } from '../../model/records/event-bus-headers.js';
import { headerText } from '../../model/records/header-text.js';
import { isReplay, isUnchangedReplay } from '../../model/records/retry-history.js';

/**
 * Returns whether a record of the main topic was replayed for another group. Groups that read one
 * topic all get the record, and only the group whose handler had failed may handle it again. A new
 * event with copied headers is never foreign: its topic, key and value must be those of the replay.
 */
export function isForeignReplay(record: BrokerRecord, groupId: string): boolean {
  const target = headerText(record.headers, EVENTBUS_HEADERS.groupId);
  return (
    target !== undefined && target !== groupId && isReplay(record) && isUnchangedReplay(record)
  );
}
