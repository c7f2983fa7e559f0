/**
 * Time of the commit of a finished record: when all records of its slice (of one poll) are done, or
 * as soon as the record is done.
 */
export const AckMode = {
  MANUAL: 'MANUAL',
  MANUAL_IMMEDIATE: 'MANUAL_IMMEDIATE',
} as const;

export type AckMode = (typeof AckMode)[keyof typeof AckMode];
