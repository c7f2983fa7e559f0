/** Decides about a batch with a failed record: read again from that record on, or dead-letter it and go on. */
export const BatchFailureStrategy = {
  SEEK_TO_FAILED: 'SEEK_TO_FAILED',
  DLQ_AND_CONTINUE: 'DLQ_AND_CONTINUE',
} as const;

export type BatchFailureStrategy = (typeof BatchFailureStrategy)[keyof typeof BatchFailureStrategy];
