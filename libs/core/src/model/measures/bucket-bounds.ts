/** Seconds that a handler, a commit or a send takes. */
export const DURATION_BOUNDS: readonly number[] = Object.freeze([
  0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300,
]);

/** Seconds from the write of a record to its end, which include the delays of retry tiers. */
export const END_TO_END_BOUNDS: readonly number[] = Object.freeze([
  0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 21_600, 86_400,
]);

/** Records in one call of a batch handler. */
export const BATCH_BOUNDS: readonly number[] = Object.freeze([
  1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 5_000,
]);

/** Calls of the handler with one record. */
export const ATTEMPT_BOUNDS: readonly number[] = Object.freeze([
  1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50,
]);
