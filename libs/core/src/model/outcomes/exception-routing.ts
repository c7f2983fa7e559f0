/** Destinations of a failed record. */
export const ExceptionRouting = {
  NEXT_TIER: 'NEXT_TIER',
  SKIP_TO_TIER: 'SKIP_TO_TIER',
  DEAD_LETTER: 'DEAD_LETTER',
  PAUSE_CONTAINER: 'PAUSE_CONTAINER',
} as const;

export type ExceptionRouting = (typeof ExceptionRouting)[keyof typeof ExceptionRouting];
