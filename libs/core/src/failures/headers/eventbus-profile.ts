import { EVENTBUS_HEADERS, tierHeaders } from '../../model/records/event-bus-headers.js';
import type { TierFailureRecord } from '../../model/records/tier-history.js';
import type { FailureReport } from '../../model/outcomes/failure-report.js';
import { isEventBusHeader } from './control-headers.js';
import {
  headersOf,
  type DeadLetterHop,
  type HeaderProfile,
  type RetryHop,
} from './header-profile.js';

/** The bus's own profile: text, numbers in decimal. Contains what the control headers do not. */
export const eventbusProfile = Object.freeze<HeaderProfile>({
  name: 'eventbus',
  owns: isEventBusHeader,
  write: (report, hop) =>
    headersOf(hop.kind === 'retry' ? earlierTiers(report, hop) : deadLetterDetails(report, hop)),
});

/** A tier is exhausted when the record leaves it, not when the record is written to it again. */
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
