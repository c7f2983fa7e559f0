/** Allows or forbids that records overtake a record that is being retried. */
export const OrderingMode = {
  RELAXED_IN_RETRY: 'RELAXED_IN_RETRY',
  STRICT: 'STRICT',
} as const;

export type OrderingMode = (typeof OrderingMode)[keyof typeof OrderingMode];
