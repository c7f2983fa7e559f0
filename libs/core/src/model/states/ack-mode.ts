/** Commits a finished record with its slice, or as soon as it is done. */
export const AckMode = {
  MANUAL: 'MANUAL',
  MANUAL_IMMEDIATE: 'MANUAL_IMMEDIATE',
} as const;

export type AckMode = (typeof AckMode)[keyof typeof AckMode];
