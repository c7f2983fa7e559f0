/**
 * Reasons why records are not handed to handlers. Reasons are a set: removing one never removes
 * another.
 */
export const PAUSE_REASONS = [
  'operator',
  'tier',
  'circuit',
  'routing',
  'delay',
  'strict',
  'backoff',
  'backpressure',
  'shutdown',
] as const;

export type PauseReason = (typeof PAUSE_REASONS)[number];
