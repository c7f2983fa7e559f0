/** Calls a handler for each record, or works through a slice at a time. */
export const ListenerType = {
  SINGLE: 'SINGLE',
  BATCH: 'BATCH',
} as const;

export type ListenerType = (typeof ListenerType)[keyof typeof ListenerType];
