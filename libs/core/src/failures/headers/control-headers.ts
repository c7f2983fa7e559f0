import type { RecordHeader } from '@nest-event-bus/broker';
import { EVENTBUS_HEADERS, tierHeaders } from '../../model/records/event-bus-headers.js';
import { isTierHeader } from '../../model/records/tier-history.js';
import type { FailureReport } from '../../model/outcomes/failure-report.js';
import type { DeserializationFailure } from '../../model/records/dlt-record.js';
import { headersOf, type DeadLetterHop, type Hop, type RetryHop } from './header-profile.js';

/** Of this format. What a newer version adds, an older one leaves as it is. */
const VERSION = 1;

/** Of a record's arrival: they are shown to its handler, and never written. */
const RECEIVED_ONLY: readonly string[] = [
  EVENTBUS_HEADERS.receivedTimestamp,
  EVENTBUS_HEADERS.consumerInstance,
];

const WRITTEN_HEADERS: ReadonlySet<string> = new Set(
  Object.values(EVENTBUS_HEADERS).filter((name) => !RECEIVED_ONLY.includes(name)),
);

/** What some hop of ours writes. A header of the family that is not known here is a newer version's, and stays. */
export const isEventBusHeader = (name: string): boolean =>
  WRITTEN_HEADERS.has(name) || isTierHeader(name);

/**
 * What the bus itself needs to find on a record again, whatever profiles tell its story: whose it
 * is, where it came from and how far it got; and, of a dead letter, why it was given up, for which
 * no other profile has a word.
 */
export function controlHeaders(report: FailureReport, hop: Hop): readonly RecordHeader[] {
  const names = EVENTBUS_HEADERS;
  return headersOf({
    [names.version]: VERSION,
    [names.bindingName]: report.binding,
    [names.groupId]: report.groupId,
    [names.originalTopic]: report.originalTopic,
    [names.originalPartition]: report.originalPartition,
    [names.originalOffset]: report.originalOffset,
    [names.originalTimestamp]: report.originalTimestamp,
    [names.totalAttempts]: report.totalAttempts,
    [names.firstFailureTimestamp]: report.firstFailureAt,
    [names.replayCount]: report.replayCount,
    ...(hop.kind === 'retry' ? retryControl(report, hop) : deadLetterControl(report, hop)),
  });
}

function deadLetterControl(
  { isPoison, deserialization }: FailureReport,
  { reason, cause }: DeadLetterHop,
) {
  return {
    [EVENTBUS_HEADERS.dltReason]: reason,
    [EVENTBUS_HEADERS.dltCause]: cause,
    [EVENTBUS_HEADERS.poison]: isPoison ? 'true' : undefined,
    ...(deserialization && deserializationHeaders(deserialization)),
  };
}

function deserializationHeaders({ part, format, exceptionClass, reason }: DeserializationFailure) {
  return {
    [EVENTBUS_HEADERS.deserializationPart]: part,
    [EVENTBUS_HEADERS.deserializationFormat]: format,
    [EVENTBUS_HEADERS.deserializationExceptionClass]: exceptionClass,
    [EVENTBUS_HEADERS.deserializationReason]: reason,
  };
}

function retryControl(report: FailureReport, { tier, delivery, at }: RetryHop) {
  return {
    [EVENTBUS_HEADERS.retryTier]: tier,
    [EVENTBUS_HEADERS.retryAttempt]: delivery,
    [EVENTBUS_HEADERS.retryTimestamp]: at,
    [EVENTBUS_HEADERS.fingerprint]: report.fingerprint,
    ...Object.fromEntries(
      report.tierHistory.map((each) => [tierHeaders(each.tier).attempts, each.attempts]),
    ),
  };
}
