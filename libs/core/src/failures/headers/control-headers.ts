import type { RecordHeader } from '@nest-event-bus/broker';
import { EVENTBUS_HEADERS, tierHeaders } from '../../model/records/event-bus-headers.js';
import { isTierHeader } from '../../model/records/tier-history.js';
import type { FailureReport } from '../../model/outcomes/failure-report.js';
import type { DeserializationFailure } from '../../model/records/dlt-record.js';
import { headersOf, type DeadLetterHop, type Hop, type RetryHop } from './header-profile.js';

/** Version of this format. An older version keeps headers that a newer one has added. */
const VERSION = 1;

/** Headers about the reception of a record. A handler sees them, but they are never written. */
const RECEIVED_ONLY: readonly string[] = [
  EVENTBUS_HEADERS.receivedTimestamp,
  EVENTBUS_HEADERS.consumerInstance,
];

const WRITTEN_HEADERS: ReadonlySet<string> = new Set(
  Object.values(EVENTBUS_HEADERS).filter((name) => !RECEIVED_ONLY.includes(name)),
);

/** Says whether the bus writes this header. An unknown header with the prefix belongs to a newer version, and stays. */
export const isEventBusHeader = (name: string): boolean =>
  WRITTEN_HEADERS.has(name) || isTierHeader(name);

/**
 * Headers that the bus itself needs, whatever the header profile: the binding, the original position
 * and the progress through the tiers. A dead letter also has its reason, which no other profile
 * contains.
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
