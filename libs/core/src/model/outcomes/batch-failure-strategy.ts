/** What becomes of a batch whose record failed. */
export const BatchFailureStrategy = {
  SEEK_TO_FAILED: 'SEEK_TO_FAILED',
  DLQ_AND_CONTINUE: 'DLQ_AND_CONTINUE',
} as const;

export type BatchFailureStrategy = (typeof BatchFailureStrategy)[keyof typeof BatchFailureStrategy];
