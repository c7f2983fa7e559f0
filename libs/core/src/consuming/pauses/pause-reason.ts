/**
 * Reasons why nothing is handed to a handler. Reasons are a set: removing one never removes another
 * one.
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
