import type { RecordHeader } from '@nest-event-bus/broker';
import { EVENTBUS_HEADERS, tierHeaders } from '../../model/records/event-bus-headers.js';
import { isTierHeader, type TierFailureRecord } from '../../model/records/tier-history.js';
import type { FailureReport } from '../../model/outcomes/failure-report.js';
import type { DeserializationFailure } from '../../model/records/dlt-record.js';
import {
  headersOf,
  type DeadLetterHop,
  type HeaderProfile,
  type Hop,
  type RetryHop,
} from './header-profile.js';

/** Version of this format. An older version keeps headers that a newer one has added. */
const VERSION = 1;

/**
 * Headers that a handler sees as if the record had them. They describe its reception, and are never
 * written.
 */
const RECEIVED_ONLY: readonly string[] = [
  EVENTBUS_HEADERS.receivedTimestamp,
  EVENTBUS_HEADERS.consumerInstance,
];

const WRITTEN_HEADERS: ReadonlySet<string> = new Set(
  Object.values(EVENTBUS_HEADERS).filter((name) => !RECEIVED_ONLY.includes(name)),
);

/**
 * Returns whether the bus writes this header. An unknown header with the prefix was written by a
 * newer version, and is kept.
 */
export const isEventBusHeader = (name: string): boolean =>
  WRITTEN_HEADERS.has(name) || isTierHeader(name);

/**
 * Returns the headers that the bus itself needs, with every header profile: the binding, the
 * original position and the progress through the tiers. A dead letter also has its reason, which
 * the other profiles do not contain.
 */
export function controlHeaders(
  report: FailureReport,
  hop: Hop,
  profiles: readonly Pick<HeaderProfile, 'name'>[],
): readonly RecordHeader[] {
  const names = EVENTBUS_HEADERS;
  return headersOf({
    [names.version]: VERSION,
    [names.headerProfiles]: profiles.map(({ name }) => name).join(','),
    [names.bindingName]: report.binding,
    [names.groupId]: report.groupId,
    [names.originalTopic]: report.originalTopic,
    [names.originalPartition]: report.originalPartition,
    [names.originalOffset]: report.originalOffset,
    [names.originalTimestamp]: report.originalTimestamp,
    [names.originalTimestampType]: report.originalTimestampType,
    [names.totalAttempts]: report.totalAttempts,
    [names.firstFailureTimestamp]: report.firstFailureAt,
    [names.replayCount]: report.replayCount,
    [names.replayId]: report.replayId,
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

/**
 * The bus's own profile, with text and decimal numbers. Contains the headers that
 * `controlHeaders` does not write.
 */
export const eventbusProfile = Object.freeze<HeaderProfile>({
  name: 'eventbus',
  owns: isEventBusHeader,
  write: (report, hop) =>
    headersOf(hop.kind === 'retry' ? earlierTiers(report, hop) : deadLetterDetails(report, hop)),
});

/**
 * Returns the tiers that the record has left. A tier to which the record is written again is not
 * one of them.
 */
function earlierTiers({ tierHistory }: FailureReport, hop: RetryHop) {
  return Object.assign(
    {},
    ...tierHistory.map((entry) => {
      const { exception, exhaustedAt } = tierHeaders(entry.tier);
      return {
        [exception]: entry.exceptionClass,
        ...(entry.tier === hop.tier ? {} : { [exhaustedAt]: entry.exhaustedAt }),
      };
    }),
  ) as Readonly<Record<string, string | number>>;
}

function deadLetterDetails(
  { tier, description, fingerprint, tierHistory }: FailureReport,
  { at }: DeadLetterHop,
) {
  const names = EVENTBUS_HEADERS;
  return {
    [names.dltTimestamp]: at,
    [names.retryTier]: tier,
    [names.lastExceptionClass]: description.className,
    [names.lastExceptionMessage]: description.message,
    [names.lastExceptionStacktrace]: description.stack,
    [names.fingerprint]: fingerprint,
    ...(Object.assign({}, ...tierHistory.map(tierEntry)) as Readonly<
      Record<string, string | number>
    >),
  };
}

function tierEntry({ tier, exceptionClass, exhaustedAt, attempts }: TierFailureRecord) {
  const names = tierHeaders(tier);
  return {
    [names.exception]: exceptionClass,
    [names.exhaustedAt]: exhaustedAt,
    [names.attempts]: attempts,
  };
}
