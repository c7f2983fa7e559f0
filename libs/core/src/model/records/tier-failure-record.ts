/** How a record fared in one tier; tier 0 is the main topic. */
export interface TierFailureRecord {
  readonly tier: number;
  readonly exceptionClass: string;
  readonly exhaustedAt: number;
  readonly attempts: number;
}
