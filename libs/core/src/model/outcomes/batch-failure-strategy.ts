/**
 * Action for a batch with a failed record: read again from that record on, or dead-letter the
 * record and continue after it.
 */
export const BatchFailureStrategy = {
  SEEK_TO_FAILED: 'SEEK_TO_FAILED',
  DLQ_AND_CONTINUE: 'DLQ_AND_CONTINUE',
} as const;

export type BatchFailureStrategy = (typeof BatchFailureStrategy)[keyof typeof BatchFailureStrategy];
