/** Type of a listener: takes single records, or a slice at a time. */
export const ListenerType = {
  SINGLE: 'SINGLE',
  BATCH: 'BATCH',
} as const;

export type ListenerType = (typeof ListenerType)[keyof typeof ListenerType];
