/** Action for a dead letter, besides the write to the dead-letter topic. */
export const DltStrategy = {
  STORE_ONLY: 'STORE_ONLY',
  ALERT_AND_STORE: 'ALERT_AND_STORE',
  SCHEDULED_REPLAY: 'SCHEDULED_REPLAY',
  CUSTOM: 'CUSTOM',
} as const;

export type DltStrategy = (typeof DltStrategy)[keyof typeof DltStrategy];
