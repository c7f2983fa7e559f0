import type { FailureReport } from '../../model/outcomes/failure-report.js';
import { headersOf, type HeaderProfile, type Hop } from './header-profile.js';

export const PLAIN_HEADERS = Object.freeze({
  originalTopic: 'original-topic',
  exceptionMessage: 'exception-message',
  exceptionClass: 'exception-class',
  failureTimestamp: 'failure-timestamp',
  retryCount: 'retry-count',
});

const NAMES: ReadonlySet<string> = new Set(Object.values(PLAIN_HEADERS));

/** Always writes all five headers: without a message the header is present and empty. */
export const plainProfile = Object.freeze<HeaderProfile>({
  name: 'plain',
  owns: (name) => NAMES.has(name),
  write: (report, hop) =>
    headersOf({
      [PLAIN_HEADERS.originalTopic]: report.originalTopic,
      [PLAIN_HEADERS.exceptionMessage]: report.description.message ?? '',
      [PLAIN_HEADERS.exceptionClass]: report.description.className,
      [PLAIN_HEADERS.failureTimestamp]: new Date(report.failedAt).toISOString(),
      [PLAIN_HEADERS.retryCount]: retryCount(report, hop),
    }),
});

/** Counts retries and replays together. The first call is no retry, and the next call of a record in a retry topic is one already. */
function retryCount({ totalAttempts, replayCount }: FailureReport, { kind }: Hop): number {
  const behind = kind === 'retry' ? totalAttempts : totalAttempts - 1;
  return replayCount + Math.max(0, behind);
}
