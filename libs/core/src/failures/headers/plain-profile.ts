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

/** Always all five: without a message the header is there and empty. */
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

/** One counter for retries and replays. The first call is none; a record in a retry topic has its next one still before it. */
function retryCount({ totalAttempts, replayCount }: FailureReport, { kind }: Hop): number {
  const behind = kind === 'retry' ? totalAttempts : totalAttempts - 1;
  return replayCount + Math.max(0, behind);
}
